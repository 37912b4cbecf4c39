package fault

import (
	"regexp"
	"strings"
)

// mark stands where a secret was.
const mark = "«redacted»"

// Redact hides what looks like a secret. It is generous: a word too many hidden costs a little diagnosis, a secret
// shown cannot be taken back. All expressions are RE2, so hostile text cannot make them slow.
func Redact(s string) string {
	for _, r := range rules {
		s = r.pattern.ReplaceAllStringFunc(s, func(hit string) string {
			return r.replace(r.pattern.FindStringSubmatch(hit))
		})
	}
	return s
}

// rule replaces one shape of secret; groups[0] is the whole hit. The patterns do not look outside the hit, except
// with \b, so matching the hit again gives the same groups.
type rule struct {
	pattern *regexp.Regexp
	replace func(groups []string) string
}

var rules = []rule{
	{ // a private key, whole or cut off
		regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----.*?(?:-----END [A-Z0-9 ]*-----|$)`),
		func([]string) string { return mark },
	},
	{ // scheme://user:password@host; the authority may hold several @, the last one ends the password
		regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"'<>]*@`),
		func(g []string) string { return g[1] + mark + "@" },
	},
	{ // the same with a slash in the password; a port and a path look alike, and lose their host
		regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s:/@"'<>]+:[^\s@"'<>]+@`),
		func(g []string) string { return g[1] + mark + "@" },
	},
	{ // Authorization: Basic dXNlcjpwYXNz, 'Authorization': 'Bearer ...', Cookie: a=b; c=d
		regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|x-api-key|(?:set-)?cookie)(\\?["']?\s*[:=]\s*\\?["']?)[^"'\\}\]]+`),
		func(g []string) string { return g[1] + g[2] + mark },
	},
	{
		regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20)([A-Za-z0-9+/._~=%-]{6,})`),
		func(g []string) string {
			if strings.EqualFold(g[1], "basic") && !encoded(g[3]) {
				return g[0] // "basic authentication"
			}
			return g[1] + g[2] + mark
		},
	},
	{ // JSON Web Tokens and other base64 of JSON: {" is eyJ
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`),
		func([]string) string { return mark },
	},
	{ // keys that say whose they are
		regexp.MustCompile(`\b(?:sk|rk|pk)[-_][A-Za-z0-9_-]{10,}` +
			`|\bgh[pousr]_[A-Za-z0-9]{10,}|\bgithub_pat_[A-Za-z0-9_]{10,}|\bglpat-[A-Za-z0-9_-]{10,}` +
			`|\bxox[a-z]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}|\bwhsec_[A-Za-z0-9+/=]{8,}` +
			`|\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA)[A-Z0-9]{12,}` +
			`|\bAIza[A-Za-z0-9_-]{20,}|\bya29\.[A-Za-z0-9_-]{10,}|\bGOCSPX-[A-Za-z0-9_-]{10,}` +
			`|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{16,}|\bSG\.[A-Za-z0-9_.-]{16,}` +
			`|\bdop_v1_[a-f0-9]{16,}|\bshp(?:at|ss|ca|pa)_[a-fA-F0-9]{16,}|\blin_api_[A-Za-z0-9]{16,}` +
			`|\bntn_[A-Za-z0-9]{16,}|\bsecret_[A-Za-z0-9]{16,}|\bATATT[A-Za-z0-9_=-]{16,}|\btvly-[A-Za-z0-9_-]{10,}` +
			`|\bfc-[a-f0-9]{16,}|\bBSA[A-Za-z0-9_-]{20,}|\bAGE-SECRET-KEY-1[A-Z0-9]{16,}`),
		func([]string) string { return mark },
	},
	{ // name=value, name: value, "name":"value", ?name=value&
		regexp.MustCompile(`(?i)(` + secretName + `)(\\?["']?\s*(?::=|=>|=|:|%3D)\s*)(` + value + `)`),
		func(g []string) string {
			if harmless(g[1], g[3]) {
				return g[0]
			}
			return g[1] + g[2] + requote(g[3])
		},
	},
	{ // --token value
		regexp.MustCompile(`(?i)(--?` + secretName + `)(\s+)(` + value + `)`),
		func(g []string) string {
			if strings.HasPrefix(g[3], "-") || harmless(g[1], g[3]) {
				return g[0]
			}
			return g[1] + g[2] + requote(g[3])
		},
	},
	{ // what is left and looks like a random key
		regexp.MustCompile(`[A-Za-z0-9+/_=-]{32,}`),
		func(g []string) string {
			if random(g[0]) {
				return mark
			}
			return g[0]
		},
	},
}

// secretName is a name that promises a secret. Bare words that are also parts of others (key, auth, pass, sig) count only
// as a whole part: monkey, author and compass are nobody's secret.
const secretName = `[\w.-]*(?:passw(?:or)?d|passphrase|passwd|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|credential|client[-_.]?secret|connection[-_.]?string)[\w.-]*` +
	`|(?:[\w.-]*[_.-])?(?:key|auth|pass|pwd|pw|sig|signature|jwt|pat|pin|otp|dsn|sid)(?:[_.-][\w.-]*)?\b` +
	`|[\w.-]*[a-z](?-i:Key|Auth|Pass|Pwd|Sig|Jwt|Pat)\b`

const value = `\\?"[^"]*"?|\\?'[^']*'?|[^\s"',;&)}\]]+`

// requote keeps the quotes around a hidden value, so that a line of JSON still looks like one.
func requote(v string) string {
	for _, q := range []string{`\"`, `\'`, `"`, `'`} {
		if strings.HasPrefix(v, q) {
			if len(v) >= 2*len(q) && strings.HasSuffix(v, q) {
				return q + mark + q
			}
			return q + mark
		}
	}
	return mark
}

// harmless are words that stand where a secret would and are none: hiding them would cost the diagnosis
// ("API_KEY: undefined", "token: required").
func harmless(name, v string) bool {
	v = strings.ToLower(strings.Trim(v, `\"'.`))
	switch v {
	case "", "undefined", "null", "nil", "none", "missing", "invalid", "required", "expired", "unset", "empty", "true", "false",
		"is", "not", "must", "was", "are", "expected", "unexpected", "unknown", "string", "str", "error", "cannot", "no", "[redacted]", "***":
		return true
	}
	// PWD is the working directory of every shell.
	return strings.HasSuffix(strings.ToLower(name), "pwd") && strings.HasPrefix(v, "/")
}

// encoded tells base64 from a word.
func encoded(s string) bool {
	return len(s) >= 16 || strings.ContainsAny(s, "0123456789+/=%")
}

// random tells a key from a path or a name: a long piece of hexadecimal digits, or one that mixes digits, capitals
// and small letters.
func random(s string) bool {
	for piece := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("/_-=", r) }) {
		if len(piece) < 20 {
			continue
		}
		var digit, upper, lower, beyondHex bool
		for _, c := range piece {
			switch {
			case c >= '0' && c <= '9':
				digit = true
			case c >= 'A' && c <= 'Z':
				upper = true
				beyondHex = beyondHex || c > 'F'
			case c >= 'a' && c <= 'z':
				lower = true
				beyondHex = beyondHex || c > 'f'
			}
		}
		if digit && (upper && lower || !beyondHex && len(piece) >= 32) {
			return true
		}
	}
	return false
}

var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]*PRIVATE KEY`)
)

// hideKeys hides private keys that span lines, also when only the first or the last part of one is there.
func hideKeys(lines []string) []string {
	var out []string
	inside := false
	for _, l := range lines {
		l = Clean(l)
		switch {
		case keyBegin.MatchString(l) && !keyEnd.MatchString(l):
			inside = true
			out = append(out, keyBegin.Split(l, 2)[0]+mark)
		case keyEnd.MatchString(l) && !keyBegin.MatchString(l):
			if !inside { // everything before it belongs to the key, as far as it looks like one
				for len(out) > 0 && bare(out[len(out)-1]) {
					out = out[:len(out)-1]
				}
				out = append(out, mark)
			}
			inside = false
		case inside:
		default:
			out = append(out, l)
		}
	}
	return out
}

var bareLine = regexp.MustCompile(`^[|>\s]*[A-Za-z0-9+/=]{8,}$`)

func bare(l string) bool { return bareLine.MatchString(l) }
