package launch

import (
	"fmt"
	"strings"
)

// HeaderVariable returns the name of the variable in which an entry that gauze wrote passes its i-th
// header, counted from 0.
func HeaderVariable(i int) string { return fmt.Sprintf("%s%d", headerVariables, i+1) }

// IsHeaderVariable reports whether a variable is named as those of HeaderVariable.
func IsHeaderVariable(name string) bool { return strings.HasPrefix(name, headerVariables) }

const headerVariables = "GAUZE_HEADER_"

// HeaderFromEnv returns the header that Name=VARIABLE describes, or Name=TEXT with ${VARIABLE} in the
// text. The value is empty, and the header not sent, if the variable is empty and that is the entry's
// own value, or if the reference is ${VARIABLE:-}.
func HeaderFromEnv(text string, lookup func(string) (string, bool)) (h Header, err error) {
	name, from, ok := strings.Cut(text, "=")
	if !ok || name == "" || from == "" {
		return h, fmt.Errorf("invalid --header-env %q: must be Name=VARIABLE, such as Authorization=MY_TOKEN", text)
	}
	h.Name = name
	if !strings.Contains(from, "${") {
		from = "${" + from + "}"
	}
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(from, "${")
		b.WriteString(before)
		if !more {
			break
		}
		variable, after, closed := strings.Cut(rest, "}")
		variable, optional := strings.CutSuffix(variable, ":-")
		value, set := lookup(variable)
		switch {
		case !closed || variable == "":
			return h, fmt.Errorf("invalid --header-env %q: references must have the form ${VARIABLE}", text)
		case (!set || value == "" && !IsHeaderVariable(variable)) && !optional:
			return h, fmt.Errorf("invalid --header-env %s: the variable %s is not set", text, variable)
		case value == "":
			return h, nil
		}
		b.WriteString(value)
		h.Source, from = "the variable "+variable, after
	}
	h.Value = b.String()
	return h, nil
}
