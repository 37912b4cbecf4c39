package repair

import "testing"

// A tool that writes gets a choice only for its own words: case and separators can change the meaning.
func TestSpellingKeepsWords(t *testing.T) {
	for _, tt := range []struct{ sent, choice string }{
		// Units.
		{"MBps", "Mbps"}, {"Mbps", "MBps"}, {"mbps", "MBps"}, {"mHz", "MHz"}, {"MHz", "mHz"}, {"MiBps", "Mibps"}, {"10 Mb max", "10 MB max"},
		{"rate in kB", "rate in kb"}, {"100MBps", "100Mbps"}, {"5 m run", "5 M run"}, {"kWh/day", "KWH/day"},
		// Separators that vanish or appear.
		{"re-sign", "resign"}, {"resign", "re-sign"}, {"re_sign", "resign"}, {"send all", "sendall"}, {"sendall", "send_all"}, {"drop all", "dropall"},
		{"drop-all", "dropall"}, {"level1", "level 1"}, {"us-east1", "us-east-1"}, {"ab_c", "a_bc"},
		// Paths, versions and files.
		{"ma/in", "main"}, {"a.bc", "ab.c"}, {"file.1", "file1"}, {"send/all", "sendall"}, {"org/tools", "org-tools"}, {"node.js", "node js"}, {"2024/05", "2024-05"},
		{"main.", "main"}, {"a/b", "a / b"},
		// Signs.
		{"gain_6", "gain-6"}, {"low gain 6", "low gain -6"}, {"offset - 3", "offset 3"}, {"1--5", "1-5"}, {"low gain 6", "low-gain--6"}, {"us-east-1.5", "us east 1-5"},
	} {
		if sameChoice(tt.sent, tt.choice, nil) {
			t.Errorf("%q is said to be %q", tt.sent, tt.choice)
		}
		schema := Compile([]byte(closedTool(`"!n":{"enum":["` + tt.choice + `","other"]}`)))
		if out := schema.Arguments([]byte(`{"n":"`+tt.sent+`"}`), Options{Tool: toolName, Tier: Silent}); out.Verdict != Refused {
			t.Errorf("%q became %s", tt.sent, out.Arguments)
		}
	}
}

func TestSpellingOfWords(t *testing.T) {
	for _, tt := range []struct{ sent, choice string }{
		{"CELSIUS", "celsius"}, {"Celsius", "CELSIUS"}, {"celsius", "Celsius"}, {"PDF file", "pdf_file"}, {"Sign In", "sign-in"},
		{"fullAccess", "full_access"}, {"full access", "fullAccess"}, {"Full-Access", "FullAccess"}, {"in progress", "IN_PROGRESS"},
		{"us east 1", "us-east-1"}, {"US_EAST_1", "us-east-1"}, {"us-east-1", "us_east_1"}, {"LEVEL_1", "level 1"}, {"utc -5", "UTC-5"},
		{"javascript", "JavaScript"}, {"GITHUB", "GitHub"}, {"2024_05", "2024-05"}, {"By Name", "by_name"}, {"node.js", "Node.js"},
		{"Variant B", "variant_b"}, {"100 mbps plan", "100 Mbps plan"}, {"C# Code", "c#_code"}, {"send all", "send_all"},
	} {
		if !sameChoice(tt.sent, tt.choice, nil) {
			t.Errorf("%q is not said to be %q", tt.sent, tt.choice)
		}
	}
}

// For a tool that only reads, different separators are enough, and told, unless there is a risk.
func TestSpellingToldForReads(t *testing.T) {
	for _, e := range []ruleCase{
		{name: "a joined word", properties: `"!n":{"enum":["todo","done"]}`, sent: `{"n":"to-do"}`, want: `{"n":"todo"}`, rule: RuleChoice},
		{name: "a slash", properties: `"!n":{"enum":["org-tools","org"]}`, sent: `{"n":"org/tools"}`, want: `{"n":"org-tools"}`, rule: RuleChoice},
		{name: "a region", properties: `"!n":{"enum":["us-east-1","us-west-1"]}`, sent: `{"n":"us east 1"}`, want: `{"n":"us-east-1"}`, rule: RuleChoice, tier: Silent},
		{name: "a region among signs", properties: `"!n":{"enum":["time-zone-1","time-zone+1"]}`, sent: `{"n":"time zone 1"}`},
		{name: "a joined risk", properties: `"!n":{"enum":["dropall","keep"]}`, sent: `{"n":"drop all"}`},
		{name: "a joined risk with a slash", properties: `"!n":{"enum":["sendall","keep"]}`, sent: `{"n":"send/all"}`},
	} {
		e.run(t)
	}
}
