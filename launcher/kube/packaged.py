"""An API server as the `kubernetes` package reaches it: a pod's account, proxies, logins of any kind."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from functools import partial

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from launcher.kube import objects, refusals
from launcher.kube.authorities import fallback
from launcher.kube.refusals import Unusable
from launcher.kube.server import CONNECTIONS, ApiServer, bearer_header


def server_by_token(host: str, token: str, authority: str | None, environ: Mapping[str, str]) -> ApiServer:
    """Return a server that a token opens."""
    configuration = _configuration()
    configuration.host = host
    configuration.ssl_ca_cert = authority
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    return packaged_server(configuration, environ)


def server_by_context(name: str, files: str, environ: Mapping[str, str]) -> tuple[ApiServer, str, str]:
    """Return the server of a kubeconfig's context, and the context's name and namespace."""
    configuration = _configuration()
    context = _entered(configuration, name, files)
    server = packaged_server(configuration, environ)
    return server, str(context.get("name", "")), str(context["context"].get("namespace") or "")


def packaged_server(configuration: Configuration, environ: Mapping[str, str]) -> ApiServer:
    """Return the server of a configuration, which goes on to renew its token; nothing is sent yet."""
    try:
        pool = RESTClientObject(configuration).pool_manager
    except (urllib3.exceptions.LocationValueError, ImportError):  # the latter for socks:// without its package
        raise Unusable(_no_proxy(configuration.proxy, environ)) from None
    return ApiServer(
        host=str(configuration.host), pool=pool, bearer=partial(bearer, configuration),
        tls=partial(_tls, configuration), proxy=configuration.proxy, server_name=configuration.tls_server_name,
    )  # fmt: skip


def bearer(configuration: Configuration) -> dict[str, str]:
    """Return the header of a token, if there is one; it is read again where it is old."""
    try:
        token = configuration.get_api_key_with_prefix("BearerToken") or ""
    except (ConfigException, OSError, ValueError) as error:
        raise Unusable(f"the token cannot be read: {objects.one_sentence(str(error))}") from None
    return bearer_header(token)


def _configuration() -> Configuration:
    configuration = Configuration()
    configuration.retries = False
    configuration.connection_pool_maxsize = CONNECTIONS
    return configuration


def _entered(configuration: Configuration, name: str, files: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  # the package's own mapping
    """Enter a context's credentials, and return the context."""
    failures: list[str] = []
    logging.getLogger().addHandler(_Kept(failures))  # an exec plugin's failure is only logged, and only there
    try:
        merged = KubeConfigMerger(files).config  # type: ignore[no-untyped-call]  # the package has no annotations here
        known = [str(each["name"]) for each in merged["contexts"]]
        _check_context(name or str(merged.safe_get("current-context") or ""), known, files)
        loader = KubeConfigLoader(merged, active_context=name or None, config_base_path=None)  # type: ignore[no-untyped-call]
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        context = loader.current_context
    except (ConfigException, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        why = refusals.broken(str(error))
        raise Unusable(f"the kubeconfig {files} cannot be used: {why}; `kubectl config view` shows it") from None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):  # its own words quote the file
            raise Unusable(f"the kubeconfig {files} is not YAML") from None
        raise
    finally:
        logging.getLogger().handlers = [each for each in logging.getLogger().handlers if not isinstance(each, _Kept)]
    if failures:
        raise Unusable(f"the program that the kubeconfig {files} runs for a token failed: {failures[0][:300]}")
    return context


def _check_context(name: str, known: list[str], files: str) -> None:
    wanted = f"context {name!r}" if name else "current-context: use -context NAME"
    if name not in known:
        raise Unusable(f"the kubeconfig {files} has no {wanted}; it has {', '.join(known) or 'none'}")


class _Kept(logging.Handler):
    def __init__(self, kept: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append(" ".join(record.getMessage().split()))


def _tls(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert or fallback())
    if getattr(configuration, "disable_strict_ssl_verification", False):
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if configuration.assert_hostname is False or not configuration.verify_ssl:
        context.check_hostname = False
    if not configuration.verify_ssl:
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _no_proxy(proxy: str | None, environ: Mapping[str, str]) -> str:
    """Return what is wrong with a proxy, without its value: a password may be in it."""
    names = [name for name in environ if name.lower().endswith("_proxy") and environ[name] == proxy]
    where = ", ".join(names) or "proxy-url of the kubeconfig"
    return f"{where}: expected the address of a proxy with its scheme, such as http://proxy.example.com:3128"
