package correct

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The lengths of the longest texts that RejectsToken reads, in bytes. Longer text is the output of a
// tool.
const (
	maxTokenText        = 2 << 10
	maxClaimedTokenText = 400
)

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
	switch rejected := failures().Of("token rejected"); {
	case !rejected.MatchString(text), failures().Of("token other").MatchString(text):
		return false
	case bytes.Contains(arguments, []byte("://")), rejected.Match(arguments):
		return false
	case claimed:
		return failures().Of("token claimed").MatchString(text) || isErrorObject(text)
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
		case "error", "error_description", "message", "status", "statuscode", "status_code", "code", "detail", "details", "success",
			"ok", "request_id":
		default:
			return false
		}
	}
	return object["error"] != nil
}
