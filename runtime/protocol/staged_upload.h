/* An asynchronous copy of at most this many bytes from pageable memory to a device takes the bytes
   along when it is issued, and the host goes on: CUDA C++ Programming Guide, "Concurrent Execution
   between Host and Device". A larger one, and one that the caller lets block, waits for the stream.
   C and C++. */
#pragma once

enum { kDevSanStagedUpload = 64 * 1024 };
