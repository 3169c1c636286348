"""The known patterns of service providers' secrets."""

from dataclasses import dataclass
from functools import cache

# Display name, and whether pushes with such a secret are blocked by default.
KNOWN = (
    ("Adafruit IO Key", True),
    ("Adobe Client Secret", True),
    ("Alibaba Cloud Access Key Secret", True),
    ("Amazon AWS Secret Access Key", True),
    ("Amazon AWS Session Token", True),
    ("Anthropic API Key", True),
    ("Asana Personal Access Token", True),
    ("Atlassian API Token", True),
    ("Azure DevOps Personal Access Token", True),
    ("Azure Storage Account Key", True),
    ("Bitbucket Server Personal Access Token", True),
    ("Cloudflare API Token", False),
    ("Databricks Access Token", True),
    ("Datadog API Key", False),
    ("DigitalOcean Personal Access Token", True),
    ("Discord Bot Token", True),
    ("Docker Personal Access Token", True),
    ("Dropbox Short Lived Access Token", True),
    ("Dynatrace API Token", True),
    ("Fastly API Token", False),
    ("Figma Personal Access Token", True),
    ("GitHub App Installation Access Token", True),
    ("GitHub OAuth Access Token", True),
    ("GitHub Personal Access Token", True),
    ("GitHub SSH Private Key", True),
    ("GitLab Access Token", True),
    ("Google API Key", False),
    ("Google Cloud Private Key ID", True),
    ("Google OAuth Client Secret", True),
    ("Grafana Cloud API Key", True),
    ("HashiCorp Vault Service Token", True),
    ("Heroku Postgres Connection URL", False),
    ("Hugging Face User Access Token", True),
    ("Linear API Key", True),
    ("Mailchimp API Key", True),
    ("Mailgun API Key", True),
    ("MongoDB Atlas Database URI With Credentials", False),
    ("New Relic Personal API Key", True),
    ("Notion API Token", True),
    ("npm Access Token", True),
    ("NuGet API Key", True),
    ("OpenAI API Key", True),
    ("PlanetScale Database Password", True),
    ("Postman API Key", True),
    ("Pulumi Access Token", True),
    ("PyPI API Token", True),
    ("RubyGems API Key", True),
    ("SendGrid API Key", True),
    ("Sentry User Authentication Token", True),
    ("Shopify Access Token", True),
    ("Slack API Token", True),
    ("Slack Incoming Webhook URL", False),
    ("Square Access Token", True),
    ("Stripe API Key", True),
    ("Telegram Bot Token", False),
    ("Twilio API Key", True),
    ("Vercel API Key", True),
    ("Yandex Cloud IAM Token", True),
)


@dataclass(frozen=True, slots=True)
class CatalogPattern:
    """A provider's pattern. `default_setting` is `enabled` or `disabled`."""

    token_type: str
    slug: str
    display_name: str
    default_setting: str


@cache
def list_all() -> dict[str, CatalogPattern]:
    """Return the patterns by token type, in the order of their names."""
    made = [_pattern(name, enabled) for name, enabled in KNOWN]
    return {one.token_type: one for one in made}


def _pattern(name: str, enabled: bool) -> CatalogPattern:
    slug = name.lower().replace(" ", "_")
    return CatalogPattern(slug.upper(), slug, name, "enabled" if enabled else "disabled")
