package task

import (
	"fmt"
	"regexp"
	"sync"
)

// What a person must do, as kinds that programs can act on.
const (
	needLogin    = "login"
	needCaptcha  = "captcha"
	needApproval = "approval"
	needAccess   = "access"
	needInput    = "input"
)

// needs says what each kind means.
var needs = map[string]string{
	needLogin:    "log in, or renew the server's credentials",
	needCaptcha:  "solve a captcha or a similar check",
	needApproval: "approve the operation",
	needAccess:   "grant the access that the operation requires",
	needInput:    "answer a question that the server asks and a task cannot answer",
}

// personMessage says that a server requires a person, and for what.
func personMessage(server, need string) string {
	return fmt.Sprintf("The server %q needs you to %s.", server, needs[need])
}

// needOfFault says which of gauze's faults only a person can end.
var needOfFault = map[string]string{
	"auth-required": needLogin, "auth-denied": needAccess,
}

// needOfCause says which of the doctor's causes only a person with an account can end.
var needOfCause = map[string]string{
	"invalid_api_key": needLogin, "http_unauthorized": needLogin, "oauth_not_completed": needLogin, "stale_oauth_cache": needLogin,
	"expired_token_hidden_in_200": needLogin, "oauth_client_not_registered": needLogin, "wrong_kind_of_credential": needLogin,
	"package_registry_login": needLogin, "stale_registry_login": needLogin,
	"bot_challenge": needCaptcha, "token_scope_insufficient": needAccess, "http_forbidden": needAccess, "access_denied": needAccess,
	"macos_tcc": needApproval,
}

// needOfWords is the last resort: the words of a result that reports a failure. The first that
// matches counts.
// They are compiled when they are first needed: gauze run never needs them.
var needOfWords = sync.OnceValue(func() []wordsOfNeed {
	return []wordsOfNeed{
		{regexp.MustCompile(`(?i)\bcaptcha\b|\bare (you )?(a )?human\b|\b(human|bot) (verification|check)\b`), needCaptcha},
		{regexp.MustCompile(`(?i)\b(needs?|requires?|requiring|awaiting|waiting for|pending|without) (your |human |manual |user |an? )*(approval|confirmation|intervention)\b|\b(human|manual) (intervention|approval)\b`), needApproval},
		{regexp.MustCompile(`(?i)\b(log ?in|login|sign ?in|authentication|authorization|re-?authenticate|verification( code)?|two[- ]factor|2fa|mfa)( (is|was|are|has|first|again|code|token))* (required|needed|necessary|expired)\b|\b(log ?in|login|sign ?in|authentication|authorization) (has )?failed\b|^\W*(authentication|login|verification)\W*$|\b(please|must|need to|have to) (first )?(log ?in|sign ?in|re-?authenticate|verify)\b|\b(requires?|needs?) (you to )?(log ?in|login|sign ?in|authentication|verification)\b|\bnot (logged|signed) in\b|\b(token|session|credentials?) (has |have |is |are )?expired\b|\bunauthenticated\b`), needLogin},
		{regexp.MustCompile(`(?i)\b(access|permission) (is |was )?denied\b`), needAccess},
	}
})

type wordsOfNeed struct {
	pattern *regexp.Regexp
	need    string
}

// needOf returns what a person must do about a call that did not succeed, or nothing. Codes come
// first: they say where a value comes from, and words only what it looks like.
func needOf(r Reply) string {
	if r.Asked {
		return needInput
	}
	if need := needOfFault[r.Fault]; need != "" {
		return need
	}
	if need := needOfCause[r.Cause]; need != "" {
		return need
	}
	if r.Status != Failed || r.Fault != "" {
		return ""
	}
	for _, w := range needOfWords() {
		if w.pattern.MatchString(r.Text) {
			return w.need
		}
	}
	return ""
}
