package gauze_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
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
		`gauze: Options.Correct: invalid MaxRetries "2": must be 0 or 1, because a corrected call is sent at most once`:       {Command: command, Correct: repair.Policy{MaxRetries: new(2)}},
		`gauze: Options.Tools["pay"].Correct: invalid Timeout "-1s": must be a duration above 0, such as 20s`:                 {Command: command, Tools: map[string]gauze.Policy{"pay": {Correct: &repair.Policy{Timeout: -time.Second}}}},
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

// What a caller does with the slices and maps in its Options, after it has given them, changes no server.
func TestOptionsBelongToTheTransport(t *testing.T) {
	ctx := patience.Context(t)
	o := faulty(t.TempDir(), "legacy")
	o.Tools = map[string]gauze.Policy{"echo": {Correct: &repair.Policy{MaxRetries: new(0)}}}
	transport := newTransport(t, o)
	clear(o.Command)
	clear(o.Env)
	*o.Tools["echo"].Correct.MaxRetries = 7
	o.Tools["echo"] = gauze.Policy{Timeout: -1}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := transport.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}); err != nil {
		t.Fatal(err)
	}
}

// The same is true for headers.
func TestHeadersBelongToTheTransport(t *testing.T) {
	var wrong atomic.Int64
	server := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return echoServer() }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Team") != "blue" {
			wrong.Add(1)
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	header := http.Header{"X-Team": {"blue"}}
	transport := newTransport(t, gauze.Options{URL: web.URL, Header: header})
	header["X-Team"][0] = "red"
	connectClient(t, transport)
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d requests with the changed header", n)
	}
}
