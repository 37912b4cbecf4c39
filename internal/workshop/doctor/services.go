package doctor

import (
	"net/url"
	"slices"
	"strings"
	"sync"
)

// service is what a key belongs to: the names that servers know it by, and where a person gets one.
// A key is never given to a different service.
type service struct {
	names   []string
	page    string   // where keys are created, or ""
	schemes []string // of URLs, if the value is one: a host name or another database's URL does not fit
}

var (
	postgresSchemes = []string{"postgres", "postgresql"}
	mysqlSchemes    = []string{"mysql", "mysql2", "mariadb"}
	mongoSchemes    = []string{"mongodb", "mongodb+srv"}
	redisSchemes    = []string{"redis", "rediss"}
)

// services returns the well-known services. A name may be in several of them: SUPABASE_KEY is either
// of two keys, which must not be taken for each other.
var services = sync.OnceValue(func() []service {
	return []service{
		{names: []string{"GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "GH_TOKEN", "GITHUB_PAT", "GITHUB_ACCESS_TOKEN", "GITHUB_API_TOKEN"},
			page: "https://github.com/settings/tokens/new"},
		{names: []string{"GITLAB_TOKEN", "GITLAB_PERSONAL_ACCESS_TOKEN", "GL_TOKEN", "GITLAB_ACCESS_TOKEN", "GITLAB_API_TOKEN"},
			page: "https://gitlab.com/-/user_settings/personal_access_tokens"},
		{names: []string{"OPENAI_API_KEY", "OPENAI_KEY", "OPENAI_APIKEY", "OPENAI_TOKEN"}, page: "https://platform.openai.com/api-keys"},
		{names: []string{"ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "ANTHROPIC_KEY"}, page: "https://console.anthropic.com/settings/keys"},
		{names: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_GENAI_API_KEY", "GOOGLE_AI_API_KEY"},
			page: "https://aistudio.google.com/apikey"},
		{names: []string{"BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"}, page: "https://api-dashboard.search.brave.com/app/keys"},
		{names: []string{"TAVILY_API_KEY", "TAVILY_KEY"}, page: "https://app.tavily.com/home"},
		{names: []string{"FIRECRAWL_API_KEY", "FIRECRAWL_KEY", "FIRECRAWL_TOKEN"}, page: "https://www.firecrawl.dev/app/api-keys"},
		{names: []string{"NOTION_API_KEY", "NOTION_TOKEN", "NOTION_API_TOKEN", "NOTION_INTEGRATION_TOKEN"},
			page: "https://www.notion.so/my-integrations"},
		{names: []string{"SLACK_BOT_TOKEN", "SLACK_TOKEN", "SLACK_API_TOKEN", "SLACK_MCP_BOT_TOKEN"}, page: "https://api.slack.com/apps"},
		{names: []string{"LINEAR_API_KEY", "LINEAR_TOKEN", "LINEAR_API_TOKEN", "LINEAR_ACCESS_TOKEN"}, page: "https://linear.app/settings/api"},
		{names: []string{"FIGMA_API_KEY", "FIGMA_ACCESS_TOKEN", "FIGMA_TOKEN", "FIGMA_PERSONAL_ACCESS_TOKEN"},
			page: "https://www.figma.com/settings#personal-access-tokens"},
		{names: []string{"SENTRY_AUTH_TOKEN", "SENTRY_TOKEN", "SENTRY_API_KEY", "SENTRY_ACCESS_TOKEN"},
			page: "https://sentry.io/settings/auth-tokens/"},
		{names: []string{"STRIPE_SECRET_KEY", "STRIPE_API_KEY", "STRIPE_KEY"}, page: "https://dashboard.stripe.com/apikeys"},
		{names: []string{"SUPABASE_ACCESS_TOKEN", "SUPABASE_TOKEN"}, page: "https://supabase.com/dashboard/account/tokens"},
		{names: []string{"SUPABASE_URL", "SUPABASE_API_URL"}, page: "https://supabase.com/dashboard/project/_/settings/api",
			schemes: []string{"https", "http"}},
		{names: []string{"SUPABASE_KEY", "SUPABASE_ANON_KEY"}, page: "https://supabase.com/dashboard/project/_/settings/api"},
		{names: []string{"SUPABASE_KEY", "SUPABASE_SERVICE_ROLE_KEY"}, page: "https://supabase.com/dashboard/project/_/settings/api"},
		{names: []string{"FIREBASE_TOKEN", "FIREBASE_API_KEY"},
			page: "https://console.firebase.google.com/project/_/settings/serviceaccounts/adminsdk"},
		{names: []string{"DATADOG_API_KEY", "DD_API_KEY", "DATADOG_KEY"}, page: "https://app.datadoghq.com/organization-settings/api-keys"},
		{names: []string{"CLOUDFLARE_API_TOKEN", "CF_API_TOKEN", "CLOUDFLARE_TOKEN"}, page: "https://dash.cloudflare.com/profile/api-tokens"},
		{names: []string{"CLOUDFLARE_ACCOUNT_ID", "CF_ACCOUNT_ID"}},
		{names: []string{"TWILIO_AUTH_TOKEN", "TWILIO_TOKEN"}, page: "https://console.twilio.com/"},
		{names: []string{"SENDGRID_API_KEY", "SENDGRID_KEY"}, page: "https://app.sendgrid.com/settings/api_keys"},
		{names: []string{"HF_TOKEN", "HUGGINGFACE_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_API_KEY", "HUGGINGFACEHUB_API_TOKEN"},
			page: "https://huggingface.co/settings/tokens"},
		{names: []string{"AWS_REGION", "AWS_DEFAULT_REGION"}},
		{names: []string{"DATABASE_URL", "DB_URL", "DATABASE_URI", "DB_CONNECTION_STRING", "DATABASE_CONNECTION_STRING"}},
		{names: []string{"POSTGRES_URL", "POSTGRESQL_URL", "POSTGRES_CONNECTION_STRING", "POSTGRES_DSN", "PG_URL", "PG_CONNECTION_STRING",
			"DATABASE_URL"}, schemes: postgresSchemes},
		{names: []string{"MYSQL_URL", "MYSQL_CONNECTION_STRING", "MYSQL_DSN", "DATABASE_URL"}, schemes: mysqlSchemes},
		{names: []string{"MONGODB_URI", "MONGODB_URL", "MONGO_URI", "MONGO_URL", "MONGODB_CONNECTION_STRING", "MDB_MCP_CONNECTION_STRING"},
			schemes: mongoSchemes},
		{names: []string{"REDIS_URL", "REDIS_URI", "REDIS_CONNECTION_STRING", "REDIS_HOST"}, schemes: redisSchemes},
		{names: []string{"JIRA_API_TOKEN", "JIRA_TOKEN", "JIRA_PAT", "ATLASSIAN_API_TOKEN"},
			page: "https://id.atlassian.com/manage-profile/security/api-tokens"},
		{names: []string{"CONFLUENCE_API_TOKEN", "CONFLUENCE_TOKEN", "CONFLUENCE_PAT", "ATLASSIAN_API_TOKEN"},
			page: "https://id.atlassian.com/manage-profile/security/api-tokens"},
		{names: []string{"AIRTABLE_API_KEY", "AIRTABLE_PAT", "AIRTABLE_TOKEN", "AIRTABLE_PERSONAL_ACCESS_TOKEN"},
			page: "https://airtable.com/create/tokens"},
		{names: []string{"DISCORD_TOKEN", "DISCORD_BOT_TOKEN"}, page: "https://discord.com/developers/applications"},
		{names: []string{"TELEGRAM_BOT_TOKEN", "TELEGRAM_TOKEN"}, page: "https://t.me/BotFather"},
		{names: []string{"HUBSPOT_ACCESS_TOKEN", "HUBSPOT_API_KEY", "PRIVATE_APP_ACCESS_TOKEN"}},
		{names: []string{"PERPLEXITY_API_KEY", "PPLX_API_KEY"}, page: "https://www.perplexity.ai/settings/api"},
		{names: []string{"GOOGLE_MAPS_API_KEY", "MAPS_API_KEY"}, page: "https://console.cloud.google.com/google/maps-apis/credentials"},
	}
})

// alias is a different name of a variable.
type alias struct {
	name    string
	schemes []string // that its value must have, if any
}

// fits reports whether a value under this name can be used for the variable.
func (a alias) fits(value string) bool {
	if len(a.schemes) == 0 {
		return true
	}
	u, err := url.Parse(value)
	return err == nil && u.Host != "" && slices.Contains(a.schemes, strings.ToLower(u.Scheme))
}

// aliases returns the other names of a variable.
func aliases(name string) (all []alias) {
	for _, s := range services() {
		if !slices.Contains(s.names, name) {
			continue
		}
		for _, other := range s.names {
			if other != name {
				all = append(all, alias{other, s.schemes})
			}
		}
	}
	return all
}

// keyPage returns where a person gets a value for a variable, or "" if that is not known.
func keyPage(name string) string {
	for _, s := range services() {
		if slices.Contains(s.names, name) && s.page != "" {
			return s.page
		}
	}
	return ""
}
