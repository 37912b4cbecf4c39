package doctor

import "strings"

// oauthClues returns the refusals of OAuth 2 in their standard forms: error codes in JSON bodies, in
// redirects, in WWW-Authenticate headers and in the exceptions of client libraries. RFC 6749, 6750,
// 7591, 8628, 8707, 9470 and OpenID Connect define the codes.
func oauthClues() map[string][]clue {
	return map[string][]clue{
		"stale_oauth_cache": {
			{certain, `\b(?:invalid_client_metadata|invalid_redirect_uri|invalid_software_statement|unapproved_software_statement|InvalidClient(?:Metadata)?Error|InvalidGrantError|UnauthorizedClientError|redirect_uri_mismatch)\b`, nil},
			{strong, `(?i)\bstate mismatch\b|\b(?:invalid|missing|mismatched|unexpected|unknown) (?:oauth )?state(?: parameter| value)?\b|\bstate (?:parameter )?(?:does not|did not|doesn't) match\b`, oauthContext},
			{strong, `(?i)\brefresh[_ ]token\b[^\n]{0,40}\b(?:reused?|rotated|already (?:used|consumed)|is required|missing|rejected|unknown|failed)`, nil},
			{strong, `(?i)\b(?:cached|stored|saved|existing) (?:oauth )?(?:client|credentials?|tokens?|registration)\b[^\n]{0,40}\b(?:invalid|stale|rejected|no longer|not (?:recognized|accepted|valid)|expired|unknown)`, nil},
		},
		"token_scope_insufficient": {
			{certain, `\b(?:insufficient_scope|missing_scope|InsufficientScopeError|insufficient_user_authentication)\b`, nil},
			{certain, `(?i)\bhas not been used in project\b|\bSERVICE_DISABLED\b|\baccessNotConfigured\b|\bAPI (?:is |has )?not (?:been )?enabled\b|\bexplicit deny\b|\bAuthorization_RequestDenied\b`, nil},
		},
		"oauth_client_not_registered": {
			{certain, `(?i)\b(?:unable|failed|could not) (?:to )?register (?:the )?(?:oauth )?client\b`, nil},
			{certain, `(?i)\b(?:dynamic )?client registration\b[^\n]{0,30}\b(?:failed|rejected|denied|not (?:supported|allowed|enabled|available)|unsupported|error|HTTP 4\d\d|status 4\d\d)`, nil},
		},
		"invalid_api_key": {
			{certain, `\b(?:token_expired|expired_token|InvalidTokenError|ExpiredTokenError|token_not_found|invalid_authentication|bad_verification_code|authentication_failed|unauthorized_token)\b`, nil},
			{strong, `(?i)error="?invalid_token"?`, nil},
			{strong, `(?i)\b(?:token|jwt|assertion)\b[^\n]{0,30}\b(?:audience|issuer|signature|nonce|kid)\b[^\n]{0,30}\b(?:invalid|mismatch\w*|does not match|not (?:valid|allowed|found)|unexpected|failed)|\b(?:audience|issuer) (?:claim )?(?:is )?(?:invalid|mismatch\w*|not (?:allowed|valid|accepted))`, oauthContext},
		},
		"http_unauthorized": {
			{likely, `(?i)\bunauthorized: |\bHTTP Basic: Access denied|code = Unauthenticated\b|Unexpected server response: 401\b`, anAnswer},
		},
		"http_forbidden": {
			{likely, `(?i)\baccess denied\b[^\n]{0,40}\b(?:IP|allow ?-?list|whitelist|account|plan|subscription)\b`, anAnswer},
			{likely, `code = PermissionDenied\b|Unexpected server response: 403\b`, anAnswer},
		},
		"oauth_not_completed": {
			{strong, `(?i)\bno (?:refresh|access) token\b[^\n]{0,20}\b(?:available|stored|saved|found)|\bmust re-?authori[sz]e\b`, oauthContext},
			// command-line programs that servers use for signing in
			{strong, `(?i)\brun:? ['"` + "`" + `]?[\w.-]+(?: auth| account)? log-?in\b|\bhave you run [\w.-]+ login\b|\bnot (?:currently |yet )?authenticated\b|\b(?:no|not (?:currently )?have an?) active account\b|\brequires (?:SSO|single sign-on)\b`, signInComplaint},
			// the error member of a response, and the query of a redirect
			{certain, `"error" ?: ?"(?:invalid_request|invalid_target|invalid_scope|server_error|temporarily_unavailable|access_denied|unauthorized_client|unsupported_response_type|authorization_pending|slow_down|invalid_request_uri|login_required|interaction_required|consent_required|account_selection_required)"`, func(x *exam, m *match) bool {
				return strings.Contains(m.said, "error_description") || oauthContext(x, m)
			}},
			{certain, `[?&]error=(?:invalid_request|invalid_scope|access_denied|server_error|unauthorized_client|unsupported_response_type|login_required|interaction_required|consent_required)\b|\berror=\w+&error_description=`, nil},
			{certain, `\b(?:InvalidScopeError|InvalidTargetError|UnsupportedGrantTypeError|UnsupportedResponseTypeError|AccessDeniedError|InvalidRequestError|TemporarilyUnavailableError|OAuthError|OAuthTokenError|OAuthFlowError|OAuthRegistrationError|AuthorizationRequiredError|McpAuthError)\b`, nil},
			{certain, `(?i)\b(?:missing|invalid|required|unknown|unsupported)\b[^\n]{0,40}\b(?:redirect_uri|client_id|client_secret|code_challenge(?:_method)?|code_verifier|grant_type|response_type|authorization_code)\b|\b(?:redirect_uri|client_id|code_challenge|code_verifier|grant_type|response_type)\b[^\n]{0,20}\b(?:is )?(?:missing|required|invalid|mismatch|unsupported)`, notOwnSetting},
			{strong, `(?i)\bissuer (?:url )?(?:mismatch|does not match|is (?:invalid|not valid))|\b(?:invalid|unexpected|wrong) issuer\b|\bcode_challenge_methods_supported\b`, nil},
			{strong, `(?i)\bauth(?:entication|orization)? required\b|\bAuthRequired\b|\b(?:no|missing) authorization (?:server|endpoint|code)\b|\bauthorization (?:server|code|endpoint)\b[^\n]{0,30}\b(?:not found|missing|invalid|expired|unreachable|failed|does not)|\bauthorization (?:url|flow|request) (?:failed|error|rejected)`, signInComplaint},
			{strong, `(?i)\b(?:token|registration|authorize|authorization|introspection|discovery|revocation) endpoint\b[^\n]{0,40}\b(?:returned|responded|failed|error|40\d|50\d|not found|missing)`, nil},
			{strong, `(?i)\bnot (?:logged|signed) in\b|\b(?:log|sign) ?in (?:first|again|to continue|required)\b|\bmcp login\b|/mcp auth\b|\bis handling authentication\b|\bwaiting for authentication\b`, signInComplaint},
		},
	}
}

// oauthContext reports whether the text is about OAuth: some of its words also have other meanings.
func oauthContext(x *exam, m *match) bool {
	return oauthWords.MatchString(x.text) || x.remote() && !strings.Contains(m.said, "tools/")
}

var oauthWords = &wording{source: `(?i)oauth|openid|oidc|\bPKCE\b|authorize|callback|\bbearer\b|\bsign-?in\b|login|csrf|auth server|token endpoint`}

// notOwnSetting reports whether a missing parameter is one of a request and not of the server's own
// configuration.
func notOwnSetting(x *exam, m *match) bool {
	return oauthContext(x, m) && !strings.Contains(m.said, "environment") && !strings.Contains(m.said, "env ")
}

// signInComplaint reports whether a line is about the failure: clients also print these words while
// all is well.
func signInComplaint(x *exam, m *match) bool {
	return complained(x, m) && !strings.Contains(strings.ToLower(m.said), "may require") && !strings.Contains(m.said, "No auth")
}
