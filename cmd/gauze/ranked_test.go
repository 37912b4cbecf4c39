//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
)

// A failure that no rule explains: what the server prints is about nothing that is known.
const puzzlingServer = `echo "thing 4711 went sideways because GLORP_LEVEL was glum; $CANARY_TOKEN" >&2; exit 3`

// A model ranks possible causes of such a failure, in every command that tests servers. It is asked once
// for each failing server, gets no secret, and changes nothing else in the output.
func TestAModelRanksPossibleCauses(t *testing.T) {
	t.Parallel()
	const canary, ranked = "plum-umbrella-7731", `{"causes":[{"cause":"env_not_set","evidence":"GLORP_LEVEL was glum"},{"cause":"data_file_missing","evidence":"no such file"}],"blanks":[{"name":"variable","value":"GLORP_LEVEL"},{"name":"path","value":"/etc/evil"}]}`
	p := newPerson(t, map[string]string{
		".cursor/mcp.json": fmt.Sprintf(`{"mcpServers": {"odd": {"command": "sh", "args": ["-c", %q], "env": {"CANARY_TOKEN": %q}}}}`, puzzlingServer, canary),
	})
	log := "log.txt"
	p.write("project/"+log, "thing 4711 went sideways because GLORP_LEVEL was glum")
	p.environ = append(p.environ, "CANARY_TOKEN="+canary)
	bare := p.environ
	for _, args := range [][]string{
		{"doctor", "odd"},
		{"doctor", "sh -c 'echo thing went sideways because GLORP_LEVEL was glum $CANARY_TOKEN >&2; exit 3'"},
		{"test", "cursor/odd"},
		{"test", "--", "sh", "-c", puzzlingServer},
		{"diagnose", log},
	} {
		server := modeltest.OpenAI(t, modeltest.Says(ranked))
		p.environ = bare
		before, status := p.gauze(args...)
		p.environ = append(bare[:len(bare):len(bare)], "GAUZE_MODEL_URL="+server.URL)
		with := append([]string{args[0], "--model", "openai:scripted"}, args[1:]...)
		said, statusWith := p.gauze(with...)
		if status != 1 || statusWith != 1 || !strings.Contains(unfolded(said), "(ranked by ") || strings.Contains(unfolded(before), "ranked by") {
			t.Errorf("%v: status %d and %d\n%s\n%s", args, status, statusWith, before, said)
		}
		if !strings.Contains(said, "GLORP_LEVEL") || strings.Contains(said, "/etc/evil") || strings.Contains(said, "made_up") {
			t.Errorf("%v:\n%s", args, said)
		}
		if rest := said[strings.Index(said, "(ranked by"):]; !strings.Contains(unfolded(rest), "because GLORP_LEVEL was glum") || strings.Contains(rest, "no such file") {
			t.Errorf("%v: the evidence of the cause is not shown\n%s", args, said)
		}
		if n := len(server.Requests()); n != 1 || strings.Contains(server.Sent(), canary) || strings.Contains(said, canary) {
			t.Errorf("%v: %d questions, or a secret in\n%s\n%s", args, n, server.Sent(), said)
		}
		failing := modeltest.OpenAI(t, modeltest.Status(400), modeltest.Status(400))
		p.environ = append(bare[:len(bare):len(bare)], "GAUZE_MODEL_URL="+failing.URL)
		if said, status := p.gauze(with...); status != 1 || timeless(said) != timeless(before) {
			t.Errorf("%v: with a model that fails, status %d\n%s\n%s", args, status, before, said)
		}
	}
}

// A batch has the causes that a model ranked beside the diagnosis, which stays the same.
func TestABatchHasRankedCauses(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	p.write("project/batch.jsonl", `{"id":1,"command":"npx notes","evidence":"spawn npx ENOENT"}`+"\n"+`{"id":2,"command":"odd","evidence":"thing 4711 went sideways because GLORP_LEVEL was glum"}`+"\n")
	server := modeltest.OpenAI(t, modeltest.Says(`{"causes":[{"cause":"env_not_set","evidence":"GLORP_LEVEL was glum"}],"blanks":[]}`))
	before, _ := p.gauze("diagnose", "--batch", "batch.jsonl")
	p.environ = append(p.environ, "GAUZE_MODEL_URL="+server.URL)
	said, status := p.gauze("diagnose", "--batch", "batch.jsonl", "--model", "openai:scripted")
	const possible = `,"possible":[{"category":"missing_env_var","cause":"env_not_set","evidence":["thing 4711 went sideways because GLORP_LEVEL was glum"]}],"ranked_by":"scripted-1"}`
	if want := strings.TrimSuffix(before, "}\n") + possible + "\n"; status != 0 || said != want {
		t.Errorf("status %d\n%s\nwant\n%s", status, said, want)
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d questions, one of them about a known cause", n)
	}
}

func unfolded(text string) string { return strings.Join(strings.Fields(text), " ") }

var durations = regexp.MustCompile(`\d+(?:\.\d+)?m?s\b|pid \d+`)

// timeless returns output without the times in it.
func timeless(text string) string { return durations.ReplaceAllString(text, "TIME") }

func TestAnInvalidModelIsAnErrorOnlyIfItIsNamed(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	p.write("project/log.txt", "spawn npx ENOENT")
	if said, status := p.gauze("diagnose", "--model", "nonsense", "log.txt"); status != 2 || !strings.Contains(said, "must be openai:NAME") {
		t.Errorf("status %d: %s", status, said)
	}
	if said, status := p.gauze("diagnose", "--model", "sampling", "log.txt"); status == 0 || !strings.Contains(said, "without an MCP client") {
		t.Errorf("status %d: %s", status, said)
	}
	p.environ = append(p.environ, "GAUZE_MODEL=nonsense")
	if said, status := p.gauze("doctor"); status != 0 || !strings.Contains(said, "continuing without a model") {
		t.Errorf("status %d: %s", status, said)
	}
}
