package gauze_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/repair"
)

// An error names the field and says what to use instead.
func TestInvalidOptionsAreReportedByField(t *testing.T) {
	command, url := []string{"server"}, "http://localhost/mcp"
	for want, o := range map[string]gauze.Options{
		"gauze: invalid Options.Tuning.Window -1: must be 0 or more":                                                          {Command: command, Tuning: gauze.Tuning{Window: -1}},
		"gauze: invalid Options.Timeout -1s: must be 0 or more":                                                               {Command: command, Timeout: -time.Second},
		"gauze: invalid Options.Patience -1s: must be 0 or more":                                                              {Command: command, Patience: -time.Second},
		"gauze: invalid Options.Restart.Cap -1ns: must be 0 or more":                                                          {Command: command, Restart: gauze.Restart{Cap: -1}},
		`gauze: invalid Options.Repair "maybe": must be off, silent, report, strict or empty`:                                 {Command: command, Repair: "maybe"},
		`gauze: invalid Options.Tools["pay"].Replay "often": must be never, safe, idempotent or empty`:                        {Command: command, Tools: map[string]gauze.Policy{"pay": {Replay: "often"}}},
		`gauze: invalid Options.Tools["pay"].MaxInFlight -2: must be 0 or more`:                                               {Command: command, Tools: map[string]gauze.Policy{"pay": {MaxInFlight: -2}}},
		`gauze: invalid Options.Tools["pay"].Repair "x": must be off, silent, report, strict or empty`:                        {Command: command, Tools: map[string]gauze.Policy{"pay": {Repair: "x"}}},
		`gauze: Options.Correct: invalid max_retries "2": must be 0 or 1, because a corrected call is sent at most once`:      {Command: command, Correct: repair.Policy{MaxRetries: new(2)}},
		`gauze: Options.Tools["pay"].Correct: invalid timeout "-1s": must be a duration above 0, such as 20s`:                 {Command: command, Tools: map[string]gauze.Policy{"pay": {Correct: &repair.Policy{Timeout: -time.Second}}}},
		"gauze: Options.Command and Options.URL are both set: use one of them":                                                {Command: command, URL: url},
		"gauze: Options.Dir and Options.Env apply only to a Command: leave them empty with a URL":                             {URL: url, Dir: "/"},
		"gauze: Options.OAuthHandler sets the Authorization header: remove it from Options.Header":                            {URL: url, OAuthHandler: &oauth{}, Header: http.Header{"Authorization": {"x"}}},
		"gauze: Options.Header, HeaderFunc, OAuthHandler and HTTPClient apply only to a URL: leave them empty with a Command": {Command: command, HTTPClient: http.DefaultClient},
	} {
		if _, err := gauze.New(o); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if _, err := gauze.NewTransport(o); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestNegativeValuesThatMeanNoLimitAreValid(t *testing.T) {
	o := gauze.Options{Command: []string{"server"}, Tuning: gauze.Tuning{RetryBudget: -1, Quarantine: -1}, Restart: gauze.Restart{Backoff: -1, Limit: -1}}
	if _, err := gauze.New(o); err != nil {
		t.Error(err)
	}
}

// Only corrections can be set for all tools by a policy: what else is set there would have no effect.
func TestAPolicyOfAllToolsHasOnlyCorrections(t *testing.T) {
	const one = "can only be set for one tool; for all tools"
	for _, c := range []struct {
		policy gauze.Policy
		want   string // empty: valid
	}{
		{gauze.Policy{Timeout: 5 * time.Second}, `gauze: Options.Tools["*"].Timeout ` + one + ` ("*"), set Correct, or Options.Timeout`},
		{gauze.Policy{Replay: gauze.ReplaySafe}, `gauze: Options.Tools["*"].Replay ` + one + ` ("*"), set Correct, or what each tool needs under its own name`},
		{gauze.Policy{MaxInFlight: 2}, `gauze: Options.Tools["*"].MaxInFlight ` + one + ` ("*"), set Correct, or Options.Tuning.Window`},
		{gauze.Policy{Repair: gauze.RepairOff}, `gauze: Options.Tools["*"].Repair ` + one + ` ("*"), set Correct, or Options.Repair`},
		{gauze.Policy{Correct: &repair.Policy{}}, ""},
		{gauze.Policy{}, ""},
	} {
		_, err := gauze.New(gauze.Options{Command: []string{"server"}, Tools: map[string]gauze.Policy{"*": c.policy}})
		if err != nil && err.Error() != c.want || err == nil && c.want != "" {
			t.Errorf("%+v: %v\nwant %s", c.policy, err, c.want)
		}
	}
}
