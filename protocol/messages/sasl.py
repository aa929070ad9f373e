"""Authentication: SaslHandshake (17), SaslAuthenticate (36).

Follows Kafka 4.4's SaslHandshake{Request,Response}.json, SaslAuthenticate{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int64, Message, since


class SaslHandshakeRequest(Message, kw_only=True):
    mechanism: str


class SaslHandshakeResponse(Message, kw_only=True):
    error_code: Int16 = 0
    mechanisms: tuple[str, ...]


SASL_HANDSHAKE = ApiSchema(
    key=17,
    name="SaslHandshake",
    oldest=0,
    newest=1,
    flexible_since=None,
    request=SaslHandshakeRequest,
    response=SaslHandshakeResponse,
)


class SaslAuthenticateRequest(Message, kw_only=True):
    auth_bytes: bytes


class SaslAuthenticateResponse(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None
    auth_bytes: bytes
    session_lifetime_ms: Annotated[Int64, since(1)] = 0  # KIP-368


SASL_AUTHENTICATE = ApiSchema(
    key=36,
    name="SaslAuthenticate",
    oldest=0,
    newest=2,
    flexible_since=2,
    request=SaslAuthenticateRequest,
    response=SaslAuthenticateResponse,
)
