package redact

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

func TestMaskWordsHidesByPosition(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"srv -p s3cret!", "srv -p «redacted»"},
		{"srv -ps3cret!", "srv -p«redacted»"},
		{"srv -pPW", "srv -p«redacted»"},
		{"srv -pA=b -port=80 -p=Word", "srv -p«redacted» -port=80 -p=«redacted»"},
		{"srv -k abc", "srv -k «redacted»"},
		{"srv -u me:word", "srv -u me:«redacted»"},
		{"srv -ume:word", "srv -ume:«redacted»"},
		{"srv --user=me:word", "srv --user=me:«redacted»"},
		{"srv --bearer word", "srv --bearer «redacted»"},
		{"srv --bearer=word", "srv --bearer=«redacted»"},
		{"srv --password word --pass=word --auth word --secret word", "srv --password «redacted» --pass=«redacted» --auth «redacted» --secret «redacted»"},
		{"srv -api-key word --key word --token word", "srv -api-key «redacted» --key «redacted» --token «redacted»"},
		{"npx -y pkg -H X-Own:word --header=X-Own:word", "npx -y pkg -H X-Own:«redacted» --header=X-Own:«redacted»"},
		{"srv postgres://me:word@db/x?a=b", "srv postgres://me:«redacted»@db/x?a=«redacted»"},
		{"srv https://hooks.example.com/services/T0/B0/xyz", "srv https://hooks.example.com/«redacted»/«redacted»/«redacted»/«redacted»"},
		{"srv https://example.com/api/webhooks/12/xyz", "srv https://example.com/api/webhooks/«redacted»/«redacted»"},
		{"srv https://example.com/s/9f8E7d6c5B4a3928/mcp", "srv https://example.com/s/«redacted»/mcp"},
		{"srv https://api.example.com/bot12345678:AAbb3cDD4eeFF/x", "srv https://api.example.com/«redacted»/x"},
		{"srv https://gh0abcd1234efgh@example.com/", "srv https://«redacted»@example.com/"},
		{`srv {"apiKey":"word","port":80}`, `srv {"apiKey":"«redacted»","port":80}`},
		{"srv Server=x;Password=word;Port=1", "srv Server=x;Password=«redacted»;Port=1"},
		{"docker run -e X_TOKEN=word -e MODE=production-like img", "docker run -e X_TOKEN=«redacted» -e MODE=«redacted» img"},
		// Nothing is hidden here.
		{"srv -p 8080 -port 80 -p8080 -p 80:80 -p 127.0.0.1:80:80", ""},
		{"srv -p /home/me/notes -k ./key.pem -p ../x -p C:/x -p ~/x", ""},
		{"python -u server.py -v", ""},
		{"npx -p notes-mcp@1.2.0 notes", ""},
		{"docker run -u 1000:1000 -i img", ""},
		{"curl -k https://example.com/mcp", ""},
		{"srv -transport stdio -project notes --key-file /etc/k.pem", ""},
		{"srv https://example.com/weather-service-2024/api-v2/mcp", ""},
		{"srv --header X-Own:${MY_TOKEN} --token ${MY_TOKEN}", ""},
		{"node --password /tmp/evil.js", ""},
	} {
		got := strings.Join(MaskWords(strings.Fields(test.line)), " ")
		if want := cmp.Or(test.want, test.line); got != want {
			t.Errorf("%s\n got %s\nwant %s", test.line, got, want)
		}
	}
}

func TestMaskWordsReadsACommandLineInAWord(t *testing.T) {
	got := MaskWords([]string{"sh", "-c", "exec srv -pPW1 --bearer word 'https://a.b/?k=v'"})
	if want := "exec srv -p«redacted» --bearer «redacted» 'https://a.b/?k=«redacted»'"; got[2] != want {
		t.Errorf("got %s", got[2])
	}
}

// What is hidden at its place is not always hidden elsewhere: a message that names the project has to stay readable.
func TestCommandSecretsAreHiddenElsewhere(t *testing.T) {
	for _, test := range []struct {
		line, said string
		hidden     bool
	}{
		{"srv -p s3cret!", "login failed: s3cret!", true},
		{"srv -pHunter2", "login failed: Hunter2", true},
		{"srv -p my-project", "no folder my-project", false},
		{"srv --bearer secretword", "refused secretword", true},
		{"srv -u me:secretword", "refused secretword", true},
		{"srv https://hooks.example.com/services/T0/B0/xyz1abc2", "POST services/T0/B0/xyz1abc2", true},
		{"srv --token=a/b+c=d\"e", `refused a%2Fb%2Bc%3Dd%22e`, true},
		{"srv --token=a/b+c=d\"e", `{"token was": "a/b+c=d\"e"}`, true},
		{"srv -p /home/me/notes", "no /home/me/notes", false},
	} {
		s := CommandSecrets(strings.Fields(test.line))
		if got := s.Redact(test.said); (got != test.said) != test.hidden {
			t.Errorf("%s: %q becomes %q", test.line, test.said, got)
		}
	}
}

func TestOpaqueTellsKeysFromNames(t *testing.T) {
	names := []string{"xterm-256color", "weather-service-2024", "claude-3-5-sonnet-20241022", "us-east-1", "localhost5432", "k8s-production-node", "production-database", "2024-11-05", "en_US.UTF-8"}
	keys := []string{"550e8400-e29b-41d4-a716-446655440000", "9f8e7d6c5b4a3928", "hunter2hunter2", "AbC1dEf2GhI3jKl4", "tok_4eC39HqLyjWDarjtT1zdp7dc"}
	for _, s := range slices.Concat(names, keys) {
		if got := opaque(s); got != slices.Contains(keys, s) {
			t.Errorf("opaque(%q) = %v", s, got)
		}
	}
}

func TestCertainSecretsAreThoseThatAreNoWords(t *testing.T) {
	s := JoinSecrets(SuspectedSecrets("github", "9f8e7d6c5b4a3928"), KnownSecrets("secretword"))
	if got := s.Certain().Redact("github 9f8e7d6c5b4a3928 secretword"); got != "github «redacted» «redacted»" {
		t.Errorf("got %q", got)
	}
	if !s.In("my github") || s.Certain().In("my github") || !s.Certain().In("my 9F8E7D6C5B4A3928") {
		t.Error("In does not look for the same forms")
	}
}
