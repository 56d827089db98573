"""The call stacks."""

from reports import count, finding, frame, write_page


def test_call_stacks(visit, example_page):
    page = visit(example_page)
    page.get_by_role("tab", name="Call stacks").click()
    flame = page.locator(".flame button")
    drawn = lambda name: any(label.startswith(name) for label in names())
    names = lambda: flame.evaluate_all("all => all.map(b => b.getAttribute('aria-label'))")
    assert names()[0].startswith("everything: ")
    assert drawn("main at train.py:51: 341.7 ms") and not drawn("at::_ops")
    page.get_by_label("Frames of PyTorch").check()
    assert drawn("at::_ops")
    page.get_by_label("Frames of PyTorch").uncheck()
    page.get_by_label("Width").select_option("count")
    page.locator(".flame button[aria-label^='main at train.py:50']").click()
    assert not drawn("main at train.py:51")
    assert page.locator(".flame-note .code").inner_text().startswith("value_50 = loss_50.item()")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("step at train.py:7")
    page.keyboard.press("ArrowRight")
    assert not page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("step at train.py:7")
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="Show them").click()
    assert count(page) == "4 of 7 findings"
    assert "called from main at train.py:50" in page.locator(".chip").first.inner_text()


def test_callers_in_a_row_are_folded(visit, project):
    stack = [frame("train.py", k, f"f_{k}") for k in range(20)]
    page = visit(write_page(project, "deep", [finding(stack=stack), finding(line=4, stack=stack[3:])]))
    page.keyboard.press("3")
    names = lambda: page.locator(".flame button").all_inner_texts()
    shown = ["f_19 train.py:19", "… 15 frames, one calling the next", "f_3 train.py:3", "f_2 train.py:2", "f_1 train.py:1", "f_0 train.py"]
    assert names() == ["everything", *shown]  # the last has no line
    page.get_by_role("button", name="one calling the next").click()
    assert len(names()) == 21 and "f_10 train.py:10" in names()
