package correct

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// The lengths of the longest texts that RejectsToken reads, in bytes. Longer text is the output of a
// tool.
const (
	maxTokenText        = 2 << 10
	maxClaimedTokenText = 400
)

// tokenShapes are the texts about access tokens.
type tokenShapes struct {
	rejected *regexp.Regexp // what servers say about an access token that they do not accept
	other    *regexp.Regexp // complaints about other things that are called tokens, and about other credentials than the one of the caller
	claimed  *regexp.Regexp // the whole text of a result that claims success, and is an error
}

// forTokens compiles the shapes when they are used first: most wraps have no login.
var forTokens = sync.OnceValue(func() tokenShapes {
	return tokenShapes{
		rejected: regexp.MustCompile(`(?i)\binvalid_token\b|\b(?:token_expired|expired_token|TokenExpired(?:Error)?|ExpiredTokenError)\b` +
			`|\b(?:invalid|expired|revoked) (?:access|bearer|oauth2?|auth(?:entication|orization)?) token\b` +
			`|\b(?:access|bearer|oauth2?|auth(?:entication|orization)?|your|the|jwt) ?token (?:is |was |has )?(?:been )?(?:expired|invalid|revoked|not valid|no longer valid)\b` +
			`|^\W*(?:error\W+)?token (?:is |has )?(?:been )?(?:expired|revoked)\b` +
			`|\b(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]?code)?)["']?[ :=(]{1,3}["']?401\b|\b401\W{1,3}unauthori[sz]ed\b`),
		other: regexp.MustCompile(`(?i)\b(?:invalid|unexpected|illegal|bad) token\b[^\n]{0,80}\b(?:line|column|position|offset|char(?:acter)?|near|input|expected|in JSON)\b|\bsyntax error\b` +
			`|\b(?:csrf|refresh|session|page|cursor|verification|reset|invite) ?token\b|\bapi[ _-]?key\b|\bpassword\b`),
		claimed: regexp.MustCompile(`(?i)^[^\w{\[]*(?:error|failed|failure|request failed|api error|http(?: error| status)?|401)\b[^\n]{0,200}$`),
	}
})

// RejectsToken reports whether a call failed because the server does not accept the access token
// that it was called with, in the server's words. claimed means that the result claims success: then
// the whole text has to be an error. Arguments that lead elsewhere, or that have the same words, are
// more likely what the text is about.
func RejectsToken(text string, claimed bool, arguments []byte) bool {
	most := maxTokenText
	if claimed {
		most = maxClaimedTokenText
	}
	if len(text) > most {
		return false
	}
	switch shapes := forTokens(); {
	case !shapes.rejected.MatchString(text), shapes.other.MatchString(text):
		return false
	case bytes.Contains(arguments, []byte("://")), shapes.rejected.Match(arguments):
		return false
	case claimed:
		return shapes.claimed.MatchString(text) || isErrorObject(text)
	}
	return true
}

// isErrorObject reports whether text is a JSON object with an error in it and nothing that a
// successful call returns.
func isErrorObject(text string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil {
		return false
	}
	for name := range object {
		switch strings.ToLower(name) {
		case "error", "error_description", "message", "status", "statuscode", "status_code", "code", "detail", "details", "success", "ok", "request_id":
		default:
			return false
		}
	}
	return object["error"] != nil
}
