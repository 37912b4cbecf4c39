package repair

import (
	"fmt"
	"strings"
	"testing"
)

// A value of the model's own is named in whatever form the arguments were sent, and however many of them
// were changed.
func TestEveryValueOfTheModelIsNamed(t *testing.T) {
	const weather = `{"type":"object","properties":{"city":{"type":"string"},"units":{"enum":["celsius","fahrenheit"]}},"required":["city","units"]}`
	const answer = `{"city":"Oslo","units":"celsius"}`
	var properties, sent, proposed []string
	for i := range 2 * maxChanges {
		properties = append(properties, fmt.Sprintf(`"a%03d":{"type":"integer"}`, i))
		sent = append(sent, fmt.Sprintf(`"a%03d":"%d"`, i, i))
		proposed = append(proposed, fmt.Sprintf(`"a%03d":%d`, i, i))
	}
	many := `{"type":"object","properties":{` + strings.Join(properties, ",") + `,"units":{"enum":["celsius","fahrenheit"]}},"required":["units"]}`
	for name, c := range map[string]struct{ schema, sent, proposed string }{
		"an object":          {weather, `{"city":"Oslo"}`, answer},
		"a string":           {weather, `"Oslo"`, answer},
		"a list":             {weather, `["Oslo"]`, answer},
		"an object as text":  {weather, `"{\"city\":\"Oslo\"}"`, answer},
		"many other changes": {many, `{` + strings.Join(sent, ",") + `}`, `{` + strings.Join(proposed, ",") + `,"units":"celsius"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile([]byte(c.schema)).Propose([]byte(c.sent), []byte(c.proposed), ProposeOptions{Tool: "look"})
			if err != nil || !p.Opened {
				t.Fatalf("opened: %v, error: %v", p.Opened, err)
			}
			if got := OwnValues(p.Changes); got != `units: "celsius"` {
				t.Errorf("named: %q", got)
			}
		})
	}
}
