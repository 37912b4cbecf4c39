package redact

import (
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// Redacted replaces a secret.
const Redacted = "«redacted»"

const mark = Redacted

// Text returns s without what looks like a secret. It errs on the side of hiding: a hidden word
// costs a little diagnosis, a leaked secret cannot be revoked. The expressions are RE2, so hostile
// text cannot make them slow, and each is tried only if one of its hints is present, so plain text
// costs next to nothing.
func Text(s string) string {
	at := variableFlag.FindStringSubmatchIndex(s)
	if at == nil {
		return hide(s)
	}
	if name := s[at[2]:at[3]]; hide(name) != name {
		return hide(s)
	}
	return hide(s[:at[0]]) + s[at[0]:at[3]] + Text(s[at[3]:])
}

// variableFlag matches the flags of gauze that name a variable, as its own advice does: the name of
// a variable is not a secret, even after Authorization=.
var variableFlag = regex.New(`--(?:header-env[ =]["']?[A-Za-z0-9-]+=|token-env[ =])([A-Z_][A-Z0-9_]*)(?:[ "'` + "`" + `,;)]|\.(?: |$)|$)`)

// hide is Text for what does not contain the name of a variable after one of gauze's flags.
func hide(s string) string {
	lower := strings.ToLower(s)
	for _, r := range shapes {
		if hinted(lower, r.hints) {
			s = r.apply(s)
		}
	}
	return hideRandom(hideNamed(hidePaths(s)))
}

// shape is one form that secrets have; groups[0] is the whole match.
type shape struct {
	hints   []string // lower case; every text that matches contains one of them
	pattern *regex.Lazy
	replace func(groups []string) string
}

var shapes = []shape{
	{ // a private key, whole or cut off
		[]string{"-----begin"},
		regex.New(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----.*?(?:-----END [A-Z0-9 ]*-----|$)`),
		func([]string) string { return mark },
	},
	{ // the end of one whose beginning is missing
		[]string{"-----end"},
		regex.New(`(?:[A-Za-z0-9+/=]{8,}(?:\s|\\n)+)*-----END [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----`),
		func([]string) string { return mark },
	},
	{ // scheme://user:password@host; the authority may contain several @, the last one ends the password
		[]string{"@"},
		regex.New(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"'<>]*@`),
		func(g []string) string { return g[1] + mark + "@" },
	},
	{ // the same with a slash in the password, which is invalid but happens; a port before a path is not a password
		[]string{"@"},
		regex.New(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s:/@"'<>]+:([^\s"'<>]*)@`),
		func(g []string) string {
			if port.MatchString(g[2]) {
				return g[0]
			}
			return g[1] + mark + "@"
		},
	},
	{ // Authorization: Basic dXNlcjpwYXNz, 'Authorization': 'Bearer ...', Cookie: a=b; c=d
		[]string{"authorization", "x-api-key", "cookie"},
		regex.New(`(?i)\b((?:proxy-)?authorization|x-api-key|(?:set-)?cookie)(\\?["']?\s*[:=]\s*\\?["']?)[^"'\\}\]]+`),
		func(g []string) string { return g[1] + g[2] + mark },
	},
	{
		[]string{"bearer", "basic"},
		regex.New(`(?i)\b(bearer|basic)(\s+|%20)([A-Za-z0-9+/._~=%-]{6,})`),
		func(g []string) string {
			if strings.EqualFold(g[1], "basic") && !encoded(g[3]) {
				return g[0] // "basic authentication"
			}
			return g[1] + g[2] + mark
		},
	},
	{ // JSON Web Tokens and other base64 of JSON: {" is eyJ
		[]string{"eyj"},
		regex.New(`\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`),
		func([]string) string { return mark },
	},
	{ // keys with a prefix of their issuer: OpenAI and Stripe, GitHub, GitLab, Slack
		[]string{"sk-", "sk_", "rk_", "pk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "whsec_"},
		regex.New(`\b(?:sk[-_]|[rp]k_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|whsec_)[A-Za-z0-9_+/=-]{8,}`),
		func([]string) string { return mark },
	},
	{ // Amazon, Google
		[]string{"akia", "asia", "abia", "acca", "agpa", "aida", "aroa", "aiza", "ya29.", "gocspx-"},
		regex.New(`\b(?:(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{10,})`),
		func([]string) string { return mark },
	},
	{ // npm, PyPI, Hugging Face, SendGrid, DigitalOcean, Shopify, Linear, Notion, Atlassian, Tavily, Firecrawl, Brave, age
		[]string{"npm_", "pypi-", "hf_", "sg.", "dop_v1_", "shpat_", "shpss_", "shpca_", "shppa_", "lin_api_", "ntn_", "secret_", "atatt", "tvly-", "fc-", "bsa", "age-secret-key-1"},
		regex.New(`\b(?:npm_|pypi-|hf_|SG\.|dop_v1_|shp(?:at|ss|ca|pa)_|lin_api_|ntn_|secret_|ATATT|tvly-|fc-|BSA|AGE-SECRET-KEY-1)[A-Za-z0-9_.=-]{16,}`),
		func([]string) string { return mark },
	},
}

var port = regex.New(`^\d{1,5}/`)

func hinted(lower string, hints []string) bool {
	for _, h := range hints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return false
}

func (r shape) apply(s string) string {
	var b strings.Builder
	end := 0
	for _, at := range r.pattern.FindAllStringSubmatchIndex(s, -1) {
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = s[at[2*i]:at[2*i+1]]
			}
		}
		b.WriteString(s[end:at[0]])
		b.WriteString(r.replace(groups))
		end = at[1]
	}
	if end == 0 {
		return s
	}
	b.WriteString(s[end:])
	return b.String()
}

// encoded reports whether s is base64 and not a word.
func encoded(s string) bool {
	return len(s) >= 16 || strings.ContainsAny(s, "0123456789+/=%")
}
