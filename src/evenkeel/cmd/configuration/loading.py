"""Reads ini files by oslo.config, and refuses them with all of their problems."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from oslo_config import cfg

from evenkeel.cmd.configuration.ini_files import DEFAULT_SECTION, IniFile, effective_file, read_ini, section_key
from evenkeel.cmd.configuration.known_options import find_unknown_options
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.configuration.relations import relation_problems
from evenkeel.cmd.options import acme_options
from evenkeel.cmd.options.device_drivers import declared_options, installed_drivers
from evenkeel.cmd.options.named_sections import named_options
from evenkeel.config.problems import Problems
from evenkeel.config.values import allowed_rule


def load_configuration(
    name: str, arguments: Sequence[str], *, groups: OptionGroups, description: str = ""
) -> cfg.ConfigOpts:
    """Read and check the ``--config-file``s of the process ``name``; returns the configuration.

    ``description``: the process's purpose, as shown by ``--help``. ``groups``: its options by section.
    Sections of device drivers are read, too, if they are in a file or the process has a ``device_driver``.
    Raises :class:`ValueError` naming the file, or with all problems of the options: position, value and
    allowed values. Exits on invalid arguments.
    """
    conf = cfg.ConfigOpts()
    for group, options in groups.items():
        conf.register_opts(options, group=group)
    try:
        conf(list(arguments), project="evenkeel", prog=name, description=description, default_config_files=None)
        files = read_configuration_files(conf)
    except cfg.ConfigFilesNotFoundError as error:
        raise ValueError(f"--config-file: {', '.join(error.config_files)}: no such file") from error
    except cfg.ConfigFileParseError as error:
        raise ValueError(
            f"--config-file: {_syntax_error_text(error)}"
        ) from None  # the line itself may contain a password
    except cfg.Error as error:
        raise ValueError(f"--config-file: {error}") from error
    drivers = _driver_sections(conf, files, groups)
    for driver, declared in drivers.items():
        # Also for a driver without options, so that its section can be read.
        conf.register_group(cfg.OptGroup(driver))
        conf.register_opts(declared or (), group=driver)
    known: dict[str | None, Sequence[cfg.Opt] | None] = dict(groups)
    known.update(drivers)
    if acme_options.ACME_SECTION in groups:
        for section, options in named_options(conf.list_all_sections()).items():
            conf.register_opts(options, group=section)
            known[section] = options
    with Problems() as problems:
        problems.found += find_unknown_options(known, files)
        problems.found += _invalid_value_problems(conf, known, files)
        # Relations compare values, so all of them have to be valid.
        if not problems.found:
            problems.found += relation_problems(conf, files)
    return conf


def file_arguments(files: Iterable[object]) -> list[str]:
    """Return the arguments of :func:`load_configuration` that name these files."""
    return [word for file in files for word in ("--config-file", str(file))]


def read_configuration_files(conf: cfg.ConfigOpts) -> tuple[IniFile, ...]:
    """Read the ini files of a configuration again, in oslo.config's order; the last file that contains an
    option determines its value.
    """
    folders = conf.config_dirs or conf.config_dir or ()
    paths = [Path(file).expanduser() for file in conf.config_file or ()]
    paths += [path for folder in folders for path in sorted(Path(folder).expanduser().glob("*.conf"))]
    return tuple(read_ini(path) for path in paths)


def _driver_sections(
    conf: cfg.ConfigOpts, files: Sequence[IniFile], groups: OptionGroups
) -> dict[str, Sequence[cfg.Opt] | None]:
    """Return ``{driver: options}`` for the configured driver and for drivers with a section in a file. Raises
    :class:`ValueError` if the configured driver is not installed or cannot be loaded.

    None in place of options: they cannot be loaded, which does not matter if another driver is configured.
    """
    configured = {conf.device_driver} if "device_driver" in conf else set()
    found: dict[str, Sequence[cfg.Opt] | None] = {driver: declared_options(driver) for driver in configured}
    others = {section_key(section) for file in files for section in file.sections}
    others -= {DEFAULT_SECTION, *groups, *configured}
    # Only if there is a section that may be a driver's, because looking through all installed packages takes long.
    for driver in sorted(installed_drivers() & others if others else ()):
        try:
            found[driver] = declared_options(driver)
        except ValueError:
            found[driver] = None
    return found


def _syntax_error_text(error: cfg.ConfigFileParseError) -> str:
    """Return position and reason of a syntax error, without the line, which may contain a password."""
    cause = error.__context__
    if isinstance(cause, cfg.ParseError):
        return f"{error.config_file}: line {cause.lineno}: {cause.msg}"
    return f"{error.config_file}: cannot be read as an ini file"


def _invalid_value_problems(
    conf: cfg.ConfigOpts, known: Mapping[str | None, Sequence[cfg.Opt] | None], files: Sequence[IniFile]
) -> Iterator[str]:
    """Yield a problem for each option with an invalid value, by reading every option once. Values of secrets are not
    shown.
    """
    for group, listed in known.items():
        for option in listed or ():
            try:
                getattr(conf[group] if group else conf, option.dest)
            except (cfg.Error, ValueError) as error:
                yield _invalid_value_problem(group or DEFAULT_SECTION, option, error, files)


def _invalid_value_problem(section: str, option: cfg.Opt, error: Exception, files: Sequence[IniFile]) -> str:
    file = effective_file(files, section, option.dest)
    place = f"{file.option_position(section, option.dest)}: " if file else ""
    what = "a value that is not allowed"
    written = _written_text(file, section, option) if file else ""
    if file and not option.secret:
        what = repr(written)
    elif not option.secret:
        what = str(error).rpartition(" is not valid: ")[2]
    if isinstance(error, cfg.TemplateSubstitutionError):
        what += f" ({error})"
    if "$" in written.replace("$$", ""):
        what += " ($ and a name stand for that option's value; write $$ for a $)"
    return f"{place}[{section}] {option.name}: {what}: {allowed_rule(option)}. {option.help}"


def _written_text(file: IniFile, section: str, option: cfg.Opt) -> str:
    texts = next(texts for name, texts in file.sections.items() if section_key(name) == section_key(section))
    return texts[option.dest][-1]
