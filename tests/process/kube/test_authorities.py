"""Which authorities prove a server whose login names none, also in an image that has no certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from launcher.kube.authorities import fallback


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory in which OpenSSL looks; its file is nowhere."""
    (tmp_path / "certs").mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "certs"))
    return tmp_path


def test_where_openssls_own_place_is_empty_or_nowhere_the_packages_file_is_trusted(place: Path) -> None:
    for _ in ("empty", "nowhere"):
        trusted = ssl.create_default_context(cafile=fallback())
        assert trusted.cert_store_stats()["x509_ca"] > 50
        if (place / "certs").exists():
            (place / "certs").rmdir()


@pytest.mark.parametrize("name", ["cert.pem", "certs/0.pem"])
def test_what_the_machine_trusts_comes_first(place: Path, name: str) -> None:
    (place / name).touch()
    assert fallback() is None
