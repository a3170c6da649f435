"""The files that one HAProxy reads when a worker begins: written before a reload, after an answer, or put right."""

from collections.abc import Mapping

from evenkeel.haproxyd.disk.files import read_text, write_file
from evenkeel.haproxyd.disk.storage import PartitionStorage, digest
from evenkeel.haproxyd.haproxy.compose import PEER_KEY, TRUSTED_PEERS, Composer, Layout, Wish
from evenkeel.haproxyd.network.peer_keys import trusted
from evenkeel.haproxyd.settings import DaemonSettings


class WrittenFiles:
    """Of one partition. What blocks says so."""

    def __init__(self, partition: str, settings: DaemonSettings, storage: PartitionStorage, layout: Layout) -> None:
        self._partition = partition
        self._settings = settings
        self._storage = storage
        self._layout = layout
        self._known: dict[str, str] = {}
        """What we know to be in the files."""
        self._composer = Composer(partition, layout, settings)
        self.behind = False
        """Are they older than what HAProxy does?"""

    def forget(self) -> None:
        """The next time, all are written anew."""
        self._known = {}
        self._composer = Composer(self._partition, self._layout, self._settings)

    def write(self, wish: Wish, *, take_local: bool) -> None:
        """Make them so; files that nothing names any more stay. ``take_local``: let HAProxy read the operator's file.
        Blocks."""
        write_files(self._storage, wish, self._layout, self._known, self._composer)
        self._known |= files_of(wish)
        self._storage.link_local(take=take_local)
        self.behind = False

    def remove_others(self, wish: Wish) -> None:
        """Nothing uses them any more. Blocks."""
        self._known = files_of(wish)
        self._storage.remove_others(self._known)

    def look(self, wish: Wish) -> tuple[str, ...]:
        """Names of those that are not as they should be, because somebody changed them; they are written again at the
        next :meth:`write`. Blocks."""
        wanted = files_of(wish)
        differing = self._storage.differing_files(wanted)
        self._known = {name: content for name, content in wanted.items() if name not in differing}
        if read_text(self._layout.config) != self._composer.text(wish):
            return (*differing, self._layout.config.name)
        return differing

    def digest(self, wish: Wish, local: str) -> str:
        """Of everything that a HAProxy which does this was told. ``local``: the operator's file."""
        files = (part for item in sorted(files_of(wish).items()) for part in item)
        return digest(self._composer.text(wish), local, *files)


def write_files(
    storage: PartitionStorage, wish: Wish, layout: Layout, known: Mapping[str, str], composer: Composer
) -> None:
    """All that the wish names, but for what is ``known`` to be right, and then what names them. Blocks."""
    storage.write_files(layout.files_dir, files_of(wish), known)
    # written beside its folder: HAProxy reads all that is in it
    write_file(layout.config, composer.text(wish).encode(), temporary_dir=layout.config_dir.parent)


def files_of(wish: Wish, kind: str = "") -> dict[str, str]:
    """All certificates and lists by name, or those of one kind."""
    files = {
        file.name: file.content for one in wish.load_balancers.values() for file in one.files if kind in ("", file.kind)
    }
    if wish.peer and not kind:
        files |= {PEER_KEY: wish.peer_key, TRUSTED_PEERS: trusted(wish.peer, wish.peers)}
    return files
