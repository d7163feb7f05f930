"""Gets tokens as the clouds' own libraries do, from services at other addresses. One line of JSON in, one out: name of the flow -> token."""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request

import msal
from google.auth import compute_engine, identity_pool
from google.auth.transport.requests import Request
from google.oauth2 import service_account

facts = json.load(sys.stdin)
google = facts["google"]
entra = facts["entra"]
scopes = ["https://www.googleapis.com/auth/cloud-platform"]
request = Request()


def token_of(credentials):
    credentials.refresh(request)
    return credentials.token


def of_account():
    credentials = service_account.Credentials.from_service_account_info(google["key"], scopes=scopes)
    # What it signs for stays Google's own address.
    credentials._token_uri = google["services"]["oauth2"]
    return token_of(credentials)


def of_pool(**more):
    return token_of(
        identity_pool.Credentials(
            audience=google["audience"],
            subject_token_type="urn:ietf:params:oauth:token-type:jwt",
            token_url=google["services"]["sts"],
            credential_source={"file": google["tokenFile"]},
            scopes=scopes,
            **more,
        )
    )


class Answer:
    def __init__(self, status, text):
        self.status_code, self.text, self.headers = status, text, {}

    def raise_for_status(self):
        pass


class Rerouted:
    """The authority is https by its name; its requests go to the service as they are."""

    def __init__(self):
        self.forms = []

    def get(self, url, **_):
        base = entra["authority"] + entra["tenantId"]
        return Answer(
            200,
            json.dumps(
                {
                    "authorization_endpoint": base + "/oauth2/v2.0/authorize",
                    "token_endpoint": base + "/oauth2/v2.0/token",
                    "issuer": base + "/v2.0",
                }
            ),
        )

    def post(self, url, data=None, headers=None, **_):
        form = urllib.parse.urlencode(data).encode()
        self.forms.append(data)
        address = entra["url"] + url.removeprefix(entra["authority"])
        try:
            with urllib.request.urlopen(urllib.request.Request(address, form)) as answer:
                return Answer(answer.status, answer.read().decode())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read().decode())

    def close(self):
        pass


claims = []


def of_app(credential):
    http = Rerouted()
    app = msal.ConfidentialClientApplication(
        entra["clientId"],
        authority=entra["authority"] + entra["tenantId"],
        client_credential=credential,
        http_client=http,
        instance_discovery=False,
    )
    answer = app.acquire_token_for_client(["https://cognitiveservices.azure.com/.default"])
    claims.append(http.forms[-1].get("client_assertion"))
    return answer.get("access_token") or answer["error_description"]


print(
    json.dumps(
        {
            "account": of_account(),
            "pool": of_pool(),
            "impersonated": of_pool(service_account_impersonation_url=google["impersonationUrl"]),
            "metadata": token_of(compute_engine.Credentials()),
            "secret": of_app(entra["clientSecret"]),
            "pod": of_app({"client_assertion": lambda: entra["podToken"]}),
            "certificate": of_app({"private_key": entra["privateKey"], "public_certificate": entra["certificate"]}),
            "claim": claims[-1].decode() if isinstance(claims[-1], bytes) else claims[-1],
        }
    )
)
