package agenttools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// gateSchema has what the schemas of our tools have.
const gateSchema = `{"type":"object","additionalProperties":false,"required":["server"],"properties":{
	"server":{"type":"string"},"client":{"type":"string"},"dry_run":{"type":"boolean"},"timeout_seconds":{"type":"number"},
	"args":{"type":"array","items":{"type":"string"}},"env":{"type":"object","additionalProperties":{"type":["null","string"]}},
	"consent":{"type":"string"},"decision":{"type":"string"}}}`

func TestCallsThatTheGateRepairs(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		sent, want string
		told       bool
	}{
		{`{"server":"a"}`, `{"server":"a"}`, false},
		{`{"servers":["a"]}`, `{"server":"a"}`, false},
		{`{"servers":["a","b"],"clients":["cursor","codex"]}`, `{"server":"[\"a\",\"b\"]","client":"[\"cursor\",\"codex\"]"}`, false},
		{`{"servers":"a"}`, `{"server":"a"}`, false},
		{`{"server":["a"]}`, `{"server":"a"}`, false},
		{`{"server":"[\"a\", \"b\"]"}`, `{"server":"[\"a\",\"b\"]"}`, false},
		{`{"server":["a,b",""]}`, `{"server":"[\"a,b\"]"}`, false},
		{`{"server":["a","",null]}`, `{"server":"a"}`, false},
		{`{"name":"a"}`, `{"server":"a"}`, false},
		{`{"server_name":"a","client_id":"cursor"}`, `{"server":"a","client":"cursor"}`, false},
		{`{"server":"a","dry_run":"true"}`, `{"server":"a","dry_run":true}`, false},
		{`{"server":"a","dryRun":true,"timeout_seconds":"5"}`, `{"server":"a","dry_run":true,"timeout_seconds":5}`, false},
		{`{"server":"a","client":null}`, `{"server":"a"}`, false},
		{`{"server":"a","args":"--all"}`, `{"server":"a","args":["--all"]}`, true},
		{`{"server":"a","consent":"t0ken"}`, `{"server":"a","consent":"t0ken"}`, false},
		{`{"servers":["a"],"consent":"t0ken"}`, `{"server":"a","consent":"t0ken"}`, false},
	} {
		got := admit(&repair.Gate{Authoritative: true}, "heal_server", []byte(gateSchema), true, []byte(row.sent))
		if got.refusal != "" || canonical(t, got.arguments) != canonical(t, []byte(row.want)) || (got.note != "") != row.told {
			t.Errorf("%s: %+v %s", row.sent, got, got.arguments)
		}
	}
}

func TestCallsThatTheGateExplains(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		`{}`:                           "Call that would pass",
		`{"server":{"a":1}}`:           "expected string",
		`{"server":"a","servers":"b"}`: "servers",
		`{"servers":["a"],"name":"b"}`: "server",
		`{"server":"a","server":"b"}`:  "server",
		`{"server":["a",1]}`:           "expected string",
		`{"server":[]}`:                "server is an empty list",
		`{"servers":[]}`:               "server is an empty list",
		`{"server":["",null," "]}`:     "server is an empty list",
		`{"server":"[]"}`:              "server is an empty list",
		`{"server":"a","clients":[]}`:  "client is an empty list",
		`{"arguments":{"server":[]}}`:  "server",
		`{"Server":[]}`:                "server",
		`{"server":"a","color":"red"}`: "color",
		`{"server":"a","args":[1,{}]}`: "args",
		`[1]`:                          "object",
		`"text"`:                       "server",
	} {
		got := admit(&repair.Gate{Authoritative: true}, "heal_server", []byte(gateSchema), true, []byte(sent))
		if !strings.Contains(got.refusal, want) || got.arguments != nil {
			t.Errorf("%s: %+v %s", sent, got, got.arguments)
		}
	}
}

// A confirmation is what was passed as one, exactly, or there is none.
func TestNoRepairTouchesAConfirmation(t *testing.T) {
	t.Parallel()
	for _, key := range confirmations {
		for _, form := range []string{
			`{"server":"a","%s":true}`, `{"server":"a","%s":5}`, `{"server":"a","%s":["t0ken"]}`, `{"server":"a","%s":{"token":"t0ken"}}`,
			`{"arguments":{"server":"a","%s":"t0ken"}}`, `"{\"server\":\"a\",\"%s\":\"t0ken\"}"`, `{"server":"a","%s":"x","%[1]s":"t0ken"}`,
			`{'server':'a','%s':'t0ken'}`,
		} {
			refusedConfirmation(t, fmt.Sprintf(form, key))
		}
		refusedConfirmation(t, fmt.Sprintf(`{"server":"a","%s":"t0ken"}`, strings.ToUpper(key[:1])+key[1:]))
		refusedConfirmation(t, fmt.Sprintf(`{"server":"a","_%s":"t0ken"}`, key))
	}
	for _, other := range []string{"confirm", "confirmed", "yes", "agree", "consent_token", "token", "approve", "force"} {
		refusedConfirmation(t, fmt.Sprintf(`{"server":"a","%s":"t0ken"}`, other))
		refusedConfirmation(t, fmt.Sprintf(`{"server":"a","%s":true}`, other))
	}
}

func refusedConfirmation(t *testing.T, sent string) {
	t.Helper()
	got := admit(&repair.Gate{Authoritative: true}, "heal_server", []byte(gateSchema), true, []byte(sent))
	if got.refusal == "" {
		t.Errorf("%s: passed as %s", sent, got.arguments)
	}
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// Calls with the names that arguments had before do the same, and a forged confirmation does nothing.
func TestEarlierNamesOfArguments(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: aHome, allow: true})
	for _, call := range []struct {
		tool string
		old  object
		now  object
	}{
		{"list_servers", object{"servers": []string{"notes"}}, object{"server": "notes"}},
		{"list_servers", object{"servers": []string{"notes", "web"}}, object{"server": "notes,web"}},
		{"list_servers", object{"clients": []string{"cursor"}}, object{"client": "cursor"}},
		{"remove_server", object{"name": "notes"}, object{"server": "notes"}},
		{"wrap_servers", object{"servers": []string{"notes"}}, object{"server": "cursor/notes"}},
		{"configure_server", object{"name": "x", "package": "npm:x", "clients": []string{"cursor"}}, object{"server": "x", "package": "npm:x", "client": "cursor"}},
	} {
		old, now := a.call(call.tool, call.old), a.call(call.tool, call.now)
		if old.failed || now.failed || old.get("diff") != now.get("diff") || old.get("status") != now.get("status") || call.tool == "list_servers" && old.text != now.text {
			t.Errorf("%s: %v: %s\n%v: %s", call.tool, call.old, old.text, call.now, now.text)
		}
	}
	token := a.want(needsConsent, "remove_server", object{"server": "notes"}).get("consent")
	for _, forged := range []object{{"server": "notes", "Consent": token}, {"server": "notes", "consent": []string{token}}, {"server": "notes", "confirm": true}, {"arguments": object{"server": "notes", "consent": token}}} {
		if r := a.call("remove_server", forged); !r.failed || a.read(".cursor/mcp.json") != aHome[".cursor/mcp.json"] {
			t.Errorf("%v: %+v", forged, r)
		}
	}
	// The result has the call that confirms, and it works as it is written.
	r := a.want(needsConsent, "remove_server", object{"name": "notes"})
	_, text, found := strings.Cut(r.get("how"), "call remove_server with ")
	var again object
	if err := json.Unmarshal([]byte(text), &again); !found || err != nil {
		t.Fatalf("%v: %s", err, r.get("how"))
	}
	a.want(done, "remove_server", again)
}
