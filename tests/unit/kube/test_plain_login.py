"""Which logins of a kubeconfig are plain, so that the package is not needed, and which are left to it."""

from __future__ import annotations

from typing import Any

import pytest

from launcher.kube.plain_login import PlainLogin, plain_login

SERVER = {"server": "https://h:6443/"}
PAIR = {"client-certificate": "c.pem", "client-key": "/keys/k.pem"}
DATA = {"client-certificate-data": "Yw==", "client-key-data": "aw=="}


def config(cluster: object = SERVER, user: object = None, **context: object) -> dict[str, Any]:
    user = {"token": "t"} if user is None else user
    return {
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", **context}},
            {"name": "two", "context": {"cluster": "c", "user": "nobody"}},
        ],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }


def login(found: object, name: str = "", *more: tuple[str, object]) -> PlainLogin | None:
    return plain_login((("/home/me", found), *more), name)


def test_a_token_and_an_authority_beside_the_file() -> None:
    found = login(config({**SERVER, "certificate-authority": "ca.pem", "extensions": [{}]}, namespace="train"))
    assert found == PlainLogin(
        context="one", namespace="train", host="https://h:6443", token="t", authority="/home/me/ca.pem",  # noqa: S106  # opens nothing
        authority_data="", certificate="", key="", certificate_data="", key_data="",
    )  # fmt: skip


def test_a_certificate_by_paths_or_within_the_file() -> None:
    by_paths, within = login(config(user=PAIR)), login(config({**SERVER, "certificate-authority-data": "YQ=="}, DATA))
    assert by_paths
    assert within
    assert (by_paths.certificate, by_paths.key, by_paths.token) == ("/home/me/c.pem", "/keys/k.pem", "")
    assert (within.certificate_data, within.key_data, within.authority_data) == ("Yw==", "aw==", "YQ==")
    both = login(config(user={**PAIR, "token": "t"}))
    assert both
    assert (both.token, both.key) == ("t", "/keys/k.pem")


def test_of_several_files_the_first_has_a_name_and_the_last_the_current_context() -> None:
    """As the package has it."""
    other = config({"server": "https://other"}, {"token": "other"})
    other["contexts"].append({"name": "three", "context": {"cluster": "c", "user": "u", "namespace": "3"}})
    other["current-context"] = "three"
    found = login(config(), "", ("/etc", other))
    assert found
    assert (found.context, found.namespace, found.host, found.token) == ("three", "3", "https://h:6443", "t")


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        {},
        {**config(), "current-context": ""},
        {**config(), "contexts": "one"},
        {**config(), "users": [{"name": "u"}]},
        config(user={}),
        config(user={"exec": {"command": "login"}}),
        config(user={"token": "t", "exec": {}}),
        config(user={"tokenFile": "t"}),
        config(user={"token": ""}),
        config(user={"token": 7}),
        config(user={7: "token"}),
        config(user={"auth-provider": {}}),
        config(user={"username": "u", "password": "p"}),
        config(user={"client-certificate": "c.pem"}),
        config(user={**PAIR, **DATA}),
        config(user={"client-certificate": "c.pem", "client-key-data": "aw=="}),
        config({}),
        config("https://h"),
        config({**SERVER, "insecure-skip-tls-verify": True}),
        config({**SERVER, "tls-server-name": "h"}),
        config({**SERVER, "proxy-url": "http://p"}),
        config({**SERVER, "certificate-authority": "", "certificate-authority-data": ""}),
    ],
)  # fmt: skip
def test_all_else_is_left_to_the_package(found: object) -> None:
    assert login(found) is None


@pytest.mark.parametrize("name", ["two", "three"])
def test_a_context_without_its_user_or_that_is_not_there_is_left_to_the_package(name: str) -> None:
    assert login(config(), name) is None
