package doctor

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// LoginRequired is the cause of a server that requires a login.
const LoginRequired = "oauth_not_completed"

// CredentialRequired is the cause of a server that returned 401 without saying what it requires.
const CredentialRequired = "http_unauthorized"

const signInAgain = "Start the sign-in again in the client, complete it in the browser, then reconnect."

func authCauses() []cause {
	return []cause{
		{
			name: "host_header_not_allowed", category: AuthFailed,
			explain: "The server's DNS rebinding protection rejects requests for {host|this host name}.",
			fix:     "Add the host name to the server's list of allowed hosts (in the Python SDK, `TransportSecuritySettings(allowed_hosts=[...])`), or connect using a host name that is already allowed.",
			clues: []clue{
				{certain, `(?i)invalid host(?: header)?:? ?(?P<host>[\w.:<> -]+)?`, nil},
				{certain, `(?i)host (?:header )?['"]?(?P<host>[\w.:-]*)['"]? (?:is )?not (?:allowed|permitted|in (?:the )?allowed)`, nil},
				{certain, `(?i)(?:invalid|forbidden|disallowed) origin|origin (?:header )?['"]?\S*['"]? (?:is )?not allowed|blocked by CORS policy`, nil},
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 421) }},
				{certain, `(?i)Blocked request\. This host \("?(?P<host>[^")\n]+)"?\) is not allowed`, nil},
			},
			hides: []string{"http_forbidden"},
		},
		{
			name: "bot_challenge", category: AuthFailed,
			explain: "A bot check in front of the server ({hit|a web application firewall}) requires a browser. A token does not get past it.",
			fix:     "Ask the server's operator to let MCP clients past the bot check, or to offer an address without one.",
			clues: []clue{
				{certain, `(?i)cf-mitigated: ?challenge|cf[-_]chl[-_]|challenges\.cloudflare\.com|/cdn-cgi/challenge-platform`, named("hit", "Cloudflare")},
				{certain, `(?i)<title>(?:Just a moment\.\.\.|Attention Required! \| Cloudflare|Checking your browser|DDoS-Guard|Vercel Security Checkpoint|Pardon Our Interruption|Human Verification|Access to this page has been denied)`, nil},
				{certain, `(?i)Enable JavaScript and cookies to continue|Sorry, you have been blocked|Checking if the site connection is secure|Verify(?:ing)? (?:that )?you are (?:a )?human`, nil},
				{strong, `(?i)Incapsula incident ID|_Incapsula_Resource|x-vercel-mitigated: ?challenge|x-amzn-waf-action: ?(?:challenge|captcha)|errors\.edgesuite\.net|\berror code: 10(?:06|07|10|12|15|20)\b`, nil},
				{strong, `(?i)\bJust a moment\.\.\.`, func(x *exam, _ *match) bool { return x.status(&match{}, 403, 429, 503) }},
			},
			hides: []string{"http_forbidden", "http_unauthorized", "wrong_endpoint_path", "remote_outage", "rate_limit", "sse_vs_streamable"},
		},
		{
			name: "oauth_client_not_registered", category: AuthFailed,
			explain: "The service accepts only OAuth clients that were registered in advance. It does not register clients on request, so signing in again does not help.",
			fix:     "Create an access token on the service's website and send it in a header. With mcp-remote, set the variable AUTH to \"Bearer TOKEN\" and add this argument: `--header \"Authorization:${{AUTH}\"`",
			instead: []advice{{when: atURL, fix: "Create an access token on the service's website, set the environment variable NAME to \"Bearer TOKEN\", and send it in a header: `gauze run --url {url|URL} --header-env Authorization=NAME`"}},
			clues: []clue{
				{certain, `(?i)(?:does not|doesn't) support dynamic client registration|dynamic client registration (?:is |was )?(?:failed|not (?:supported|allowed|enabled|available)|rejected|disabled|unsupported|forbidden|denied)`, nil},
				{certain, `(?i)Incompatible auth server|no registration[_ ]endpoint|registration_endpoint (?:is )?(?:missing|not (?:found|supported|present))|(?:client )?registration (?:endpoint )?(?:is )?not (?:supported|allowed|available)`, nil},
			},
			hides: []string{"oauth_not_completed", "http_unauthorized", "http_forbidden", "stale_oauth_cache"},
		},
		{
			name: "stale_oauth_cache", category: AuthFailed,
			explain: "The server no longer accepts the stored OAuth client or token.",
			fix:     "In the client, delete the stored sign-in for this server, then sign in again.",
			instead: []advice{{when: func(x *exam, _ *match) bool {
				return strings.Contains(x.line, "mcp-remote") || strings.Contains(x.text, "mcp-remote") || strings.Contains(x.text, ".mcp-auth")
			},
				fix: "Delete the sign-ins that mcp-remote stored, then sign in again. To delete them: `{$forget}`"}},
			clues: []clue{
				{certain, `\binvalid_client\b|(?i)invalid client[_ ]id\b|(?i)client (?:id )?(?:not found|is not registered|not registered|does not exist|is unknown)|unknown client\b`, nil},
				{certain, `(?i)refresh token (?:is |has )?(?:invalid|expired|been revoked|not found)|\binvalid_grant\b`, nil},
				{strong, `(?i)existing OAuth client information is required|No code verifier saved|code_verifier|PKCE`, nil},
				{strong, `(?i)\bredirect[_ ]?ur[il][^\n]{0,160}(?:mismatch|not (?:registered|allowed|approved|permitted|whitelisted|in the|valid)|do(?:es)? not match|invalid|rejected|unknown)|(?:invalid|unregistered|unapproved|unknown|mismatch\w*|disallowed)[_ ]redirect[_ ]?ur[il]`, nil},
			},
			hides: []string{"oauth_not_completed", "http_unauthorized", "setting_value_invalid"},
		},
		{
			name: "token_scope_insufficient", category: AuthFailed,
			explain: "The token is valid but lacks {scope|a required permission}.",
			fix:     "Create a token with the permissions that the server's documentation lists, and use it instead.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return liveURL(x, nil) && !x.Keyed }, explain: "The login is valid but lacks {scope|a required permission}.",
				fix: "Log in again and ask for the scope that the server requires, in place of SCOPE: `gauze login {login|URL} --scope SCOPE`"}},
			clues: []clue{
				{certain, `(?i)\binsufficient[_ ](?:scope|permission|privilege|authentication scope)s?|missing[_ ]scopes?:? ?(?P<scope>[\w:,. -]+)?|requires? (?:one of )?(?:the )?(?:following )?(?:scope|permission)s?:? ?['"` + "`" + `]?(?P<needed>[\w:.-]+)`, nil},
				{certain, "", func(x *exam, m *match) bool {
					at := slices.IndexFunc(x.HTTP, lacksScope)
					if at < 0 {
						return false
					}
					m.said = "HTTP 403, WWW-Authenticate: " + x.HTTP[at].Authenticate
					if scope := requiredScope().FindStringSubmatch(x.HTTP[at].Authenticate); scope != nil {
						m.names = map[string]string{"scope": "the scope " + scope[1]}
					}
					return true
				}},
				{certain, `An error occurred \((?:AccessDenied\w*|UnauthorizedOperation|Forbidden|AuthorizationError|InvalidAccessKeyId|SignatureDoesNotMatch|AuthFailure)\)`, nil},
				{certain, `Resource not accessible by (?:personal access token|integration)`, nil},
				{certain, `(?i)(?:token|key|app|user|account) (?:does not|doesn't|lacks?) (?:have )?(?:the )?(?:required|necessary|sufficient|correct)? ?(?:scope|permission|access|right|privilege)`, nil},
				{certain, `(?i)not authorized to perform:? (?P<scope>[\w:]+)`, nil},
				{strong, `(?i)\b(?:you|user|account|token) (?:do|does)(?: not|n't) have (?:the |any |sufficient )?(?:permission|access|right)s?`, nil},
				{strong, `(?i)make sure the relevant (?:pages|databases|resources) (?:and \w+ )?are shared|not shared with (?:your|the) (?:integration|service account|app)|\bnot_in_channel\b|is not a member of`, nil},
				{strong, `(?:^|[^.\w])AccessDeniedException\b|\bPERMISSION_DENIED\b|The caller does not have permission`, nil},
				{strong, `(?i)SAML enforcement|organization has enabled or enforced SAML`, nil},
			},
			hides: []string{"http_forbidden", "http_unauthorized", "access_denied"},
		},
		{
			name: "db_grant_missing", category: AuthFailed,
			explain: "The database rejected the password, or the database user lacks a required permission.",
			fix:     "Check the user and password in the connection string, and grant the permission that the database's error message mentions.",
			clues: []clue{
				{certain, `(?i)password authentication failed for user|no pg_hba\.conf entry|role "[^"\n]+" does not exist`, nil},
				{certain, `(?i)access denied for user '[^'\n]*'@|ER_ACCESS_DENIED_ERROR|ER_DBACCESS_DENIED_ERROR|ER_TABLEACCESS_DENIED`, nil},
				{certain, `(?i)permission denied for (?:table|schema|relation|database|sequence|function|view) `, nil},
				{certain, `(?i)MongoServerError: (?:bad auth|Authentication failed|not authorized)|not authorized on \w+ to execute command`, nil},
				{certain, `\b(?:NOAUTH|WRONGPASS|NOPERM)\b`, nil},
				{certain, `Login failed for user|ORA-01017|ORA-01031|SQLSTATE\[?(?:28000|42501|28P01)|insufficient privileges? (?:on|to)`, nil},
				{strong, `SASL: SCRAM-SERVER-FIRST-MESSAGE`, nil},
			},
			hides: []string{"access_denied"},
		},
		{
			name: "cloud_credentials_not_in_container", category: AuthFailed,
			explain: "The server found no valid cloud credentials. The profile or sign-in that your shell uses is not available where the server runs.",
			fix:     "Sign in on this machine (`aws sso login`, `gcloud auth application-default login` or `az login`). To use a profile other than the default, set it under \"env\" in the server's entry.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.container() }, fix: "The user decides whether the container may read this machine's cloud credentials. For AWS, mount them with an argument after \"run\".", command: "-v {$home .aws}:/root/.aws:ro"}},
			clues: []clue{
				{certain, `(?i)the config profile \((?P<profile>[^)\n]+)\) could not be found|ProfileNotFound`, nil},
				{certain, `Unable to locate credentials|NoCredentialsError|Could not load credentials from any providers|CredentialsProviderError|Unable to load AWS credentials`, nil},
				{certain, `SSOTokenLoadError|Error loading SSO Token|TokenRetrievalError|UnauthorizedSSOTokenError|NoCredentialProviders|CredentialsNotFound|no valid credential sources`, nil},
				{certain, `Could not load the default credentials|DefaultCredentialsError|Your default credentials were not found`, nil},
				{certain, `DefaultAzureCredential failed to retrieve a token|CredentialUnavailableError|AzureCliCredential|EnvironmentCredential authentication unavailable`, nil},
				{certain, `ExpiredToken(?:Exception)?\b|The security token included in the request is (?:expired|invalid)|UnrecognizedClientException|InvalidClientTokenId|The SSO session (?:associated with this profile )?has expired|Token has expired and refresh failed`, nil},
			},
			hides: []string{"http_unauthorized", "http_forbidden", "env_not_set"},
		},
		{
			name: LoginRequired, category: AuthFailed, passes: true,
			explain: "The server requires sign-in, but the sign-in was not completed.",
			fix: signInAgain + " If the server has a URL, gauze can log in instead of the client and renew the login. " +
				"Wrap the server with `gauze wrap --remote SERVER`, then log in: `gauze login SERVER`",
			instead: []advice{{when: func(_ *exam, m *match) bool { return m.names["step"] != "" },
				explain: "The server requires a sign-in or setup of its own, which is done once in a terminal.",
				fix:     "Run this step in a terminal, then start the server again: `{line|COMMAND} {step|auth}`"}, {when: func(x *exam, _ *match) bool { return liveURL(x, nil) && x.NoLogin }, explain: "The server requires a login, and logins are turned off with --login off.",
				fix: "Remove --login off and log in once in a terminal: `gauze login {login|URL}`"}, {when: liveURL, explain: launch.LoginMissing,
				fix: launch.LogIn("gauze login {login|URL}")}, {when: func(x *exam, _ *match) bool { return len(x.Command) > 0 && !x.bridge() && !x.remote() }, fix: signInAgain}},
			clues: []clue{
				{certain, `(?i)error getting token from server metadata`, nil},
				{certain, `(?i)(?:oauth|authorization|authentication|login|sign-?in)[^\n]{0,40}(?:was |has been )?(?:cancell?ed|aborted|timed? ?out|not completed|incomplete|pending|dismissed|interrupted)`, func(x *exam, m *match) bool { return !strings.Contains(strings.ToLower(m.said), "may require") }},
				{certain, `(?i)needs (?:re-?)?authenticat|(?:requires?|needs?) (?:re-?)?(?:authentication|authorization|login)\b|(?:authentication|authorization|login) (?:is )?required|(?:please|must) (?:log|sign) ?in|not (?:logged|signed) in|re-?authenticate|please authenticate`, func(x *exam, m *match) bool { return !strings.Contains(strings.ToLower(m.said), "may require") }},
				{certain, `(?i)(?:oauth-protected-resource|oauth-authorization-server|openid-configuration)[^\n]*?(?:40\d|failed|not found|invalid|mismatch)|Protected resource [^\n]+ does not match`, nil},
				{strong, `(?i)\bnot authenticated\b|\bneeds[-_]auth\b|\bunauthenticated\b|run /mcp to authenticate`, nil},
				{strong, `\bUnauthorizedError\b|(?i)\bOAuth error\b|token exchange failed|authorization with [^\n]{1,60} failed|(?i)\bOAuth\b[^\n]{0,30} failed`, nil},
				{certain, `\b(?:unsupported_grant_type|unauthorized_client|invalid_scope|consent_required|interaction_required|login_required)\b|\bAADSTS\d{5,}`, nil},
				{strong, `(?i)(?:client )?registration (?:is )?(?:not (?:allowed|supported|permitted|enabled)|disabled|closed|rejected|failed)|\b(?:invalid|missing|mismatch\w*|unknown) (?:oauth )?state(?: parameter)?\b[^\n]{0,30}(?i:oauth|callback|auth)`, func(_ *exam, m *match) bool { return !toolWord.MatchString(m.said) }},
				{certain, `(?i)WWW-Authenticate: ?Bearer[^\n]*?resource_metadata`, nil},
				{strong, `(?i)waiting for (?:the )?(?:oauth|auth|browser|user|login|authorization)[^\n]{0,20}`, func(x *exam, m *match) bool { return x.bridge() || x.remote() }},
				{certain, "", func(x *exam, m *match) bool {
					for _, answer := range x.HTTP {
						if answer.Status == 401 && strings.Contains(answer.Authenticate, "Bearer") {
							m.said = "HTTP 401, WWW-Authenticate: Bearer"
							return true
						}
					}
					return false
				}},
			},
			hides: []string{"http_unauthorized", "npx_cold_start_timeout", "slow_tool_call"},
		},
		{
			name: "auth_header_malformed", category: AuthFailed,
			explain: "The Authorization header is malformed: it contains quotes, or lacks \"Bearer\" or a space.",
			instead: []advice{{when: atURL, fix: "Set the environment variable NAME to \"Bearer TOKEN\", and send it in a header: `gauze run --url {url|URL} --header-env Authorization=NAME`"}},
			fix:     "Send the header as \"Authorization: Bearer TOKEN\". With mcp-remote on Windows, set the variable AUTH to \"Bearer TOKEN\" and use this argument: `--header \"Authorization:${{AUTH}\"`",
			clues: []clue{
				{certain, `(?i)(?:missing|invalid|malformed|bad|no) (?:or (?:missing|invalid|malformed) )?(?:the )?['"` + "`" + `]?(?:authorization|bearer|auth|x-api-key)['"` + "`" + `]? (?:token )?header`, nil},
				{certain, `(?i)(?:authorization|bearer|auth) (?:token )?header (?:is |was )?(?:missing|malformed|invalid|not (?:provided|found|present)|required|badly formatted)`, nil},
				{strong, `(?i)Invalid (?:character in )?header (?:content|value|name)[^\n]{0,40}|ERR_INVALID_CHAR|InvalidHeaderValue`, nil},
			},
			hides: []string{"http_unauthorized", "env_not_set", "http_forbidden"},
		},
		{
			name: "expired_token_hidden_in_200", category: AuthFailed,
			explain: "The token has expired or is invalid. The server reports this inside a successful response, where clients do not look for it.",
			fix:     "Get a new token (sign in again), then restart the server with it.",
			instead: []advice{
				{when: func(x *exam, _ *match) bool { return x.remote() }, explain: "The token sent to the server has expired or is invalid.", fix: "Get a new token (sign in again) and replace the old one with it."},
				{when: func(x *exam, _ *match) bool { return x.status(&match{}, 401, 403) }, explain: "The token that the server uses has expired or is invalid.", fix: "Get a new token and replace the old one under \"env\" in the server's entry."}},
			clues: []clue{
				{strong, `(?i)"isError": ?true(?s:.*?)(?:token (?:is |has )?(?:expired|invalid)|unauthorized|auth(?:entication)? failed)`, nil},
				{strong, `(?i)(?:bearer )?auth(?:entication)? failed: (?:invalid|expired) token|invalid JWT|JWT (?:is )?expired|jwt (?:expired|malformed)|TokenExpiredError|token (?:is |has |was )?(?:expired|been revoked|revoked)|Signature has expired|ID token expired`, nil},
			},
			hides: []string{"http_unauthorized"},
		},
		{
			name: "wrong_kind_of_credential", category: AuthFailed,
			explain: "The service requires a different kind of key or token.",
			fix:     "Use the kind of key or token that the server's documentation calls for, such as a personal access token, a service key or a bot token.",
			clues: []clue{
				{strong, `(?i)(?:please )?provide a valid access token`, nil},
				{strong, `(?i)(?:not|invalid|wrong|unsupported) (?:an? )?(?:allowed |supported )?token[_ ]type|not_allowed_token_type|expects? an? (?:\w+ )?(?:personal access|bot|user|service|OAuth) (?:access )?token|(?:JWT|OAuth|bearer) tokens? (?:are|is) not (?:supported|accepted)`, nil},
				{strong, `(?i)Invalid access token format|access token format|Expected (?:a|an) \w+ (?:key|token), (?:got|received)`, nil},
			},
			hides: []string{"invalid_api_key", "http_unauthorized", "env_not_set"},
		},
		{
			name: "invalid_api_key", category: AuthFailed,
			explain: "The service rejected the key or token that the server sent.",
			fix:     "Check the key under \"env\" in the server's entry: it must be current, without quotes or spaces around it, and not an example value.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.remote() }, explain: "The server rejected the key or token that was sent to it.",
				fix: "Check the token in the header sent to the server: it must be current, prefixed with \"Bearer\" if the server requires that, without quotes or spaces around it, and not an example value."}},
			clues: []clue{
				{certain, `(?i)\b(?:invalid or missing|missing or invalid|invalid/missing|missing/invalid) (?:[\w-]+ ){0,2}(?:token|key|credentials?|secret|password)\b|"message": ?"Missing Authentication Token"`, nil},
				{certain, "", func(x *exam, m *match) bool { return x.Live && x.Keyed && x.status(m, 401) }},
				{certain, `(?i)invalid (?:x-)?api[-_ ]?(?:key|token)|(?:incorrect|wrong|bad|unknown|expired|revoked) api[-_ ]?(?:key|token)|api[-_ ]?(?:key|token)[^\n]{0,20} (?:is |was )?(?:invalid|not valid|incorrect|expired|revoked|rejected|disabled)|API_KEY_INVALID|invalid_api_key|api key not (?:valid|found)`, nil},
				{certain, `\bauthentication_error\b|\bBad credentials\b|\binvalid_auth\b|AuthenticationError|\bINVALID_API_KEY\b|invalid_token\b|token_revoked|not_authed|account_inactive`, nil},
				{strong, `(?i)(?:invalid|incorrect|wrong|bad) (?:access |auth(?:entication)? |bearer |personal access |bot )?(?:token|credentials?|password|username or password|login)\b`, func(x *exam, m *match) bool { return !parseComplaint(m) }},
				{strong, `(?i)\bauthentication (?:failed|error|failure|unsuccessful)\b|\bauthorization failed\b|failed to authenticate|could not authenticate|unable to authenticate|\blogin failed\b`, nil},
				{strong, `(?i)No access, refresh token, API key|"error_description": ?"[^"\n]*(?:access )?token[^"\n]*"|no (?:access )?token was (?:provided|sent|found) in (?:this|the) request|RefreshError`, nil},
				{likely, `(?i)(?:could not|failed to|unable to) (?:verify|validate) (?:the )?(?:credentials|token|api key)`, nil},
			},
			hides: []string{"http_unauthorized", "http_forbidden"},
		},
		{
			name: CredentialRequired, category: AuthFailed,
			explain: "A service that the server calls returned 401: the key or token is missing or not valid.",
			fix:     "Set the key under \"env\" in the server's entry, as the server's documentation describes, or renew the existing one.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.remote() || len(x.Command) == 0 },
				explain: launch.CredentialMissing,
				fix:     launch.LogInOrSendKey("gauze login {login|URL}", "gauze run --url {url|URL}")}},
			clues: []clue{
				{strong, "", func(x *exam, m *match) bool { return x.status(m, 401, 407) }},
				{likely, `(?i)\bnot authori[sz]ed\b|"error": ?"(?:access_denied|unauthorized|unauthenticated)"|\bUNAUTHENTICATED\b`, nil},
				{likely, `(?m)(?:^|[:"'\s>])(?i:unauthorized)(?:[."'\s,]|$)`, anAnswer},
			},
		},
		{
			name: "http_forbidden", category: AuthFailed,
			explain: "The server returned 403: the account or token is not allowed to do this, or a firewall in front of the server blocks the request.",
			fix:     "Check that the account or token has access to this server. On a company network, ask whether a web filter blocks the request.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return len(x.Command) > 0 && !x.remote() }, explain: "A service that the server calls returned 403: the account or key is not allowed to do this, or a firewall in front of the service blocks the request.",
				fix: "Check that the account or key that the server uses has access to the service. On a company network, ask whether a web filter blocks the request."},
				{when: func(x *exam, _ *match) bool { return liveURL(x, nil) && !x.Keyed }, explain: "The server returned 403, and no key or token is configured for it. Either the server requires one, or your login does not allow this, or a firewall in front of the server blocks the request.",
					fix: "Set the environment variable NAME to the token (with \"Bearer \" before it if the server requires that), and send it in a header: `gauze run --url {url|URL} --header-env Authorization=NAME`"}},
			clues: []clue{
				{strong, "", func(x *exam, m *match) bool { return x.status(m, 403) }},
				{likely, `(?m)(?:^|[:"'\s])Forbidden(?:[."'\s]|$)`, anAnswer},
			},
		},
	}
}

// aboutOurKey reports whether a cause contradicts what is known about the key: a server's complaint
// about a key does not count if none was sent, and a request to sign in does not count if one was.
// Whether a header was sent is a fact.
func (x *exam) aboutOurKey(c *cause) bool {
	switch c.name {
	case "invalid_api_key", "expired_token_hidden_in_200", "wrong_kind_of_credential", "stale_oauth_cache", "auth_header_malformed":
		return !x.Keyed
	case "token_scope_insufficient": // only a request with a token gets this answer: that of a login
		return !x.Keyed && !slices.ContainsFunc(x.HTTP, lacksScope)
	case LoginRequired:
		return x.Keyed
	}
	return false
}

// lacksScope reports whether the server rejected a token because of its scopes.
func lacksScope(h HTTP) bool { return strings.Contains(h.Authenticate, `error="insufficient_scope"`) }

var requiredScope = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bscope="([\w:./ -]{1,100})"`) })

// named returns a condition that sets a name of the match.
func named(key, value string) func(*exam, *match) bool {
	return func(_ *exam, m *match) bool {
		m.names = map[string]string{key: value}
		return true
	}
}
