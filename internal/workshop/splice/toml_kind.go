package splice

import (
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// tomlKind returns whether a text is a number, a time or, as NullKind, neither. There is no 30th of
// February and no number that needs more than 64 bits.
func tomlKind(text string) Kind {
	var parser unstable.Parser
	parser.Reset([]byte("t = " + text))
	if strings.ContainsAny(text, "#\r\n") || strings.TrimSpace(text) != text || !parser.NextExpression() {
		return NullKind
	}
	var err error
	kind := NumberKind
	switch digits := strings.ReplaceAll(text, "_", ""); parser.Expression().Value().Kind {
	case unstable.Integer:
		_, err = strconv.ParseInt(digits, 0, 64)
	case unstable.Float:
		_, err = strconv.ParseFloat(digits, 64)
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		kind = TimeKind
		err = parseTOMLTime(text)
	default:
		return NullKind
	}
	if err != nil || parser.NextExpression() || parser.Error() != nil {
		return NullKind
	}
	return kind
}

// tomlTime has the parts of a date, a time or both. time.Parse would accept 9:30 and +24:60.
var tomlTime = regex.New(`^(?:(\d{4}-\d\d-\d\d)(?:[Tt ]|$))?(\d\d:\d\d)?(:\d\d(?:\.\d+)?)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$`)

// parseTOMLTime returns an error if there is no such time.
func parseTOMLTime(text string) error {
	parts := tomlTime.FindStringSubmatch(text)
	if parts == nil || parts[2] == "" && parts[1] != text || parts[1] == "" && parts[4] != "" {
		return strconv.ErrSyntax
	}
	layout := ""
	for i, part := range []string{"2006-01-02", "15:04", ":05", "Z07:00"} {
		if parts[i+1] != "" {
			layout += part
		}
	}
	_, err := time.Parse(layout, strings.ToUpper(strings.Join(parts[1:], "")))
	return err
}
