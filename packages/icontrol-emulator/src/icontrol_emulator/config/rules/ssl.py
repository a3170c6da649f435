"""TLS profiles: certificate and key in old and new properties, whether they match, and whether any cipher is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config import pem
from icontrol_emulator.config.ciphers import BadWord
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.rules import ciphers
from icontrol_emulator.config.rules.files import CERT, CRL, KEY, key_text, text_of
from icontrol_emulator.config.rules.misc import BuiltInRules, check_users
from icontrol_emulator.config.schema import Context, names
from icontrol_emulator.errors import IControlError

CLIENT_SSL = "ltm/profile/client-ssl"
WORDS = {CERT: "certificate", KEY: "key", CRL: "certificate revocation list"}
OPTIONS = names(
    "dont-insert-empty-fragments no-ssl no-sslv2 no-sslv3 no-tlsv1 no-tlsv1.1 no-tlsv1.2 no-tlsv1.3 no-dtls no-dtlsv1 "
    "no-dtlsv1.2 cipher-server-preference all-bugfixes ephemeral-rsa microsoft-big-sslv3-buffer "
    "microsoft-sess-id-bug msie-sslv2-rsa-padding netscape-ca-dn-bug netscape-challenge-bug "
    "netscape-demo-cipher-change-bug netscape-reuse-cipher-change-bug no-session-resumption-on-renegotiation "
    "passive-close pkcs1-check-1 pkcs1-check-2 single-dh-use ssleay-080-client-dh-bug sslref2-reuse-cert-type-bug "
    "tls-d5-bug tls-rollback-bug tls-block-padding-bug"
)


class SslProfileRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        if "tmOptions" in props:
            props["tmOptions"] = shown_options(props["tmOptions"])
        _hide(props)
        chain = props.get("certKeyChain")
        if isinstance(chain, Mapping):
            chain = [{"name": name, **(entry or {})} for name, entry in chain.items()]
        before = old.props if old else {}
        own = any(props.get(name) != before.get(name) for name in ("cert", "key", "chain"))
        if chain and chain != before.get("certKeyChain"):
            entries = [_entry(entry) for entry in chain]
            if own and any(props.get(name) not in (None, entries[0][name]) for name in ("cert", "key", "chain")):
                raise errors.chain_and_profile(draft.key.path)
            props["certKeyChain"] = entries
            props.update({name: entries[0][name] for name in ("cert", "key", "chain")})
        elif own and "cert" in props and draft.key.type == CLIENT_SSL:
            entry = {"name": "default", "cert": props["cert"], "key": props.get("key", "none"),
                     "chain": props.get("chain", "none"), **_kept_phrase(props)}  # fmt: skip
            props["certKeyChain"] = [_entry(entry)]
        if draft.key.type == CLIENT_SSL and props.get("cert") not in (None, "/Common/default.crt"):
            props["inheritCertkeychain"] = "false"

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        if "certKeyChain" in shown:
            shown["certKeyChain"] = [
                {name: value for name, value in entry.items() if name[0] != "_"} for entry in shown["certKeyChain"]
            ]

    def missing(self, ctx: Context, obj: Obj, target: Target, word: str) -> IControlError:
        if target.family in WORDS:
            return errors.no_such_file(WORDS[target.family], target.path)
        return super().missing(ctx, obj, target, word)

    def check(self, ctx: Context, obj: Obj) -> None:
        effective = ctx.props(obj)
        kinds: set[str] = set()
        for pair in chain_of(effective):
            self._check_pair(ctx, obj, pair, kinds)
        self._check_ciphers(ctx, obj, effective)
        check_users(ctx, "profile", obj)
        for key in list(ctx.store.users(Target("profile", obj.key.path))):
            top = ctx.store.get(key.top)
            if top is not None and key.parent:
                ctx.spec(top.key.type).rules.check(ctx, top)

    def _check_pair(self, ctx: Context, obj: Obj, pair: Mapping[str, Any], kinds: set[str]) -> None:
        cert = ctx.store.get(Key(CERT, "", str(pair.get("cert"))))
        key = ctx.store.get(Key(KEY, "", str(pair.get("key"))))
        if cert is None or key is None:
            if (cert is None) != (key is None):
                raise errors.configuration_error(f"Profile {obj.key.path} needs a certificate and its key")
            return
        try:
            private = pem.private_key(key_text(key, str(pair.get("_passphrase") or "")))
        except pem.BadPassphrase as error:
            raise errors.unreadable_key(key.key.path, obj.key.path) from error
        if not pem.fit(pem.certificates(text_of(cert))[0], private):
            raise errors.no_pair(obj.key.path)
        kind = pem.kind_of_key(private)
        if kind in kinds:
            raise errors.same_kind_twice(obj.key.path)
        kinds.add(kind)

    def _check_ciphers(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> None:
        text, group = str(props.get("ciphers")), str(props.get("cipherGroup") or "none")
        if group != "none" and text != "none":
            raise errors.configuration_error(
                f"In profile {obj.key.path} ciphers and cipher-group are mutually exclusive"
            )
        if group == "none" and "no-tlsv1.3" not in options_of(props):
            raise errors.tls13_without_group(obj.key.path)
        try:
            chosen = ciphers.of_profile(ctx, props)
        except BadWord as error:
            raise errors.bad_cipher_word(str(error), obj.key.path) from error
        if not chosen:
            raise errors.denies_all(text, obj.key.path)


def chain_of(props: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The certificate and key pairs in a profile's effective properties."""
    return list(props.get("certKeyChain") or [props])


def options_of(props: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(str(props.get("tmOptions") or "").strip("{} ").split())


def shown_options(given: str) -> str:
    """In the form of devices since 14.0: `{ no-tlsv1.3 no-dtlsv1.2 }`, as one string."""
    words = [word for word in given.strip("{} ").split() if word != "none"]
    for word in words:
        if word not in OPTIONS:
            raise errors.invalid_value("tmOptions", word)
    return f"{{ {' '.join(words)} }}" if words else "none"


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    given = {"appService": "none", "chain": "none", "usage": "SERVER", **entry}
    given.setdefault("name", "default")
    _hide(given)
    if not given.get("cert") or not given.get("key"):
        raise errors.missing_property("certKeyChain")
    return given


def _hide(props: dict[str, Any]) -> None:
    """Move a passphrase to an internal property, which is never shown."""
    given = props.get("passphrase")
    if isinstance(given, str) and given != "none" and not given.startswith("$M$"):
        props["_passphrase"] = given
        props["passphrase"] = f"$M$em${len(given)}"


def _kept_phrase(props: Mapping[str, Any]) -> dict[str, Any]:
    return {name: props[name] for name in ("passphrase", "_passphrase") if name in props}
