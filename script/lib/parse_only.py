"""Parses a program's command line and ends before it does anything: wrong options and --help need no build.

usage: parse_only.py PROGRAM [ARGUMENT...]     exit status 0: the arguments are right; 3: --help was given; 2: wrong"""

import argparse
import runpy
import sys


def parsed(parser, *arguments, **options):
    parse(parser, *arguments, **options)
    sys.exit(0)


def shown(parser, status=0, message=None):
    leave(parser, status or 3, message)


parse, leave = argparse.ArgumentParser.parse_args, argparse.ArgumentParser.exit
argparse.ArgumentParser.parse_args, argparse.ArgumentParser.exit = parsed, shown
del sys.argv[0]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
