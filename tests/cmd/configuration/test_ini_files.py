from pathlib import Path

from evenkeel.cmd.configuration.ini_files import add_location, effective_file, read_ini

TEXT = """# host = of a comment
[DEFAULT]
host = h
list = a,
  host = continued
[BigIP]
icontrol_hostname: a
host = there
host = again
"""


def test_options_are_found_in_their_files_and_lines(tmp_path: Path) -> None:
    first, second = tmp_path / "1.ini", tmp_path / "2.ini"
    first.write_text(TEXT)
    second.write_text("[DEFAULT]\n\nhost = other\n")
    files = [read_ini(first), read_ini(second)]
    assert files[0].lines == {
        ("DEFAULT", ""): 2,
        ("DEFAULT", "host"): 3,
        ("DEFAULT", "list"): 4,
        ("bigip", ""): 6,
        ("bigip", "icontrol_hostname"): 7,
        ("bigip", "host"): 9,
    }
    assert effective_file(files, "DEFAULT", "host") == files[1]
    assert effective_file(files, "bigip", "port") is None
    for problem, told in {
        "host: 'x': wrong": f"{second}:3: [DEFAULT] host: 'x': wrong",
        "bigip.host: wrong": f"{first}:9: [bigip] host: wrong",
        "icontrol_hostname: wrong": f"{first}:7: [bigip] icontrol_hostname: wrong",
        "host, port: wrong": f"{second}:3: [DEFAULT] host, port: wrong",
        "port: not set": "port: not set",
        "what is this": "what is this",
    }.items():
        assert add_location(problem, files, ["DEFAULT", "bigip"]) == told
