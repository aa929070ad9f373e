"""SCRAM credentials: DescribeUserScramCredentials (50), AlterUserScramCredentials (51).

Follows Kafka 4.4's DescribeUserScramCredentials{Request,Response}.json,
AlterUserScramCredentials{Request,Response}.json.
"""

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Message


class UserName(Message, kw_only=True):
    name: str


class DescribeUserScramCredentialsRequest(Message, kw_only=True):
    users: tuple[UserName, ...] | None


class CredentialInfo(Message, kw_only=True):
    mechanism: Int8
    iterations: Int32


class DescribeUserScramCredentialsResult(Message, kw_only=True):
    user: str
    error_code: Int16 = 0
    error_message: str | None = None
    credential_infos: tuple[CredentialInfo, ...]


class DescribeUserScramCredentialsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    results: tuple[DescribeUserScramCredentialsResult, ...]


DESCRIBE_USER_SCRAM_CREDENTIALS = ApiSchema(
    key=50,
    name="DescribeUserScramCredentials",
    oldest=0,
    newest=0,
    flexible_since=0,
    request=DescribeUserScramCredentialsRequest,
    response=DescribeUserScramCredentialsResponse,
)


class ScramCredentialDeletion(Message, kw_only=True):
    name: str
    mechanism: Int8


class ScramCredentialUpsertion(Message, kw_only=True):
    name: str
    mechanism: Int8
    iterations: Int32
    salt: bytes
    salted_password: bytes


class AlterUserScramCredentialsRequest(Message, kw_only=True):
    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]


class AlterUserScramCredentialsResult(Message, kw_only=True):
    user: str
    error_code: Int16 = 0
    error_message: str | None = None


class AlterUserScramCredentialsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: tuple[AlterUserScramCredentialsResult, ...]


ALTER_USER_SCRAM_CREDENTIALS = ApiSchema(
    key=51,
    name="AlterUserScramCredentials",
    oldest=0,
    newest=0,
    flexible_since=0,
    request=AlterUserScramCredentialsRequest,
    response=AlterUserScramCredentialsResponse,
)
