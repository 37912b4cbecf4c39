package doctor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Verdicts that were wrong, with the text that the tool really wrote.
func TestVerdictsOnRealText(t *testing.T) {
	const (
		brave   = "Error: A Brave API key is required via --brave-api-key, BRAVE_API_KEY, --brave-api-key-file, or BRAVE_API_KEY_FILE. You can get one at https://brave.com/search/api/.\nInvalid configuration\n"
		wrapped = "error: No solution found when resolving tool dependencies\n" + // uv 0.13 in 80 columns
			"  cause: Because the current Python version (3.11.2) does not satisfy\n" +
			"         Python>=3.12 and notes-mcp==0.51.0 depends on Python>=3.12, we can\n" +
			"         conclude that notes-mcp==0.51.0 cannot be used.\n" +
			"         And because you require notes-mcp==0.51.0, we can conclude that your\n" +
			"         requirements are unsatisfiable.\n"
		boxed = "  × No solution found when resolving tool dependencies:\n" + // uv 0.7 in 80 columns
			"  ╰─▶ Because the current Python version (3.11.14) does not\n" +
			"      satisfy Python>=3.12 and only notes-mcp==1.0 is available, we can conclude\n" +
			"      that all versions of notes-mcp cannot be used.\n" +
			"      And because you require notes-mcp, we can conclude that your requirements\n" +
			"      are unsatisfiable.\n"
		skipping = "Warning: Cannot access directory /srv/none, skipping\nError: None of the specified directories are accessible\n"
		noYes    = "npm error npx canceled due to missing packages and no YES option: [\"notes-mcp@1.6.0\"]\nnpm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-17T04_51_35_167Z-debug-0.log\n"
	)
	for _, c := range []struct{ command, stderr, cause, explains, fixes, not string }{
		{"npx -y @brave/brave-search-mcp-server", brave, "env_not_set", "requires BRAVE_API_KEY,", `"BRAVE_API_KEY": "VALUE"`, "setting"},
		{"npx -y notes", "Invalid configuration\n", "setting_value_invalid", "its value is not valid", "", "setting: configuration"},
		{"uvx notes-mcp==0.51.0", wrapped, "python_too_old", ">=3.12", "`uvx --python 3.12 notes-mcp==0.51.0`", ""},
		{"uvx notes-mcp", boxed, "python_too_old", ">=3.12", "`uvx --python 3.12 notes-mcp`", ""},
		{"uvx --python 3.11 --from notes-mcp[all]==1.0 notes --stdio", wrapped, "python_too_old", ">=3.12", "`uvx --python 3.12 --from 'notes-mcp[all]==1.0' notes --stdio`", ""},
		{"uv --directory /srv/notes run notes", wrapped, "python_too_old", ">=3.12", "`uv --directory /srv/notes run --python 3.12 notes`", "uvx"},
		{"node /srv/server.js", skipping, "wrong_directory_argument", "The directory /srv/none does not exist", "", "skipping"},
		{"npx -y files ./none", strings.ReplaceAll(skipping, "/srv/", "/home/me/my, own/"), "wrong_directory_argument", "The directory /home/me/my, own/none does not exist", "", "skipping"},
		{"npx notes-mcp", noYes, "npx_not_confirmed", "notes-mcp", "`npx -y notes-mcp`", "exited"},
		{"npx --no-install notes-mcp", noYes, "npx_not_confirmed", "--no-install", "`npx -y notes-mcp`", "exited"},
	} {
		d := Diagnose(atStartup(c.command, c.stderr))
		if d.Cause != c.cause || !strings.Contains(d.Explanation, c.explains) || !strings.Contains(d.Fix, c.fixes) || c.not != "" && strings.Contains(d.Explanation+d.Fix, c.not) {
			t.Errorf("%s\n%s=> %s: %s\n   %s", c.command, c.stderr, d.Cause, d.Explanation, d.Fix)
		}
		for _, other := range d.Others {
			if c.not != "" && strings.Contains(other.Explanation, c.not) {
				t.Errorf("%s also: %s", c.command, other.Explanation)
			}
		}
	}
}

// A report says how long the server was waited for in the end.
func TestASilentServerIsReportedWithTheLastWait(t *testing.T) {
	probe := func(_ context.Context, _ launch.Spec, wait time.Duration) Seen {
		if wait == 0 {
			wait = 10 * time.Second
		}
		return Seen{Case: Case{Command: []string{"server"}, Live: true, Stage: Started, Limit: Limit{Passed: true, Alive: true, After: wait}}}
	}
	report := Treat(t.Context(), launch.Spec{Command: "server"}, Treatment{Probe: probe, Waits: waitsAfter(10 * time.Second),
		Fixes: func(Diagnosis, Case, launch.Spec) []Fix { return nil }})
	if d := report.Diagnosis; d == nil || !strings.Contains(d.Explanation, "within 1m0s") || report.Wait != 0 {
		t.Errorf("%+v, wait %v", d, report.Wait)
	}
}

// A value that is a word must not hide the names that contain it. It is hidden everywhere else.
func TestAValueDoesNotHideTheNameOfAVariable(t *testing.T) {
	for _, c := range []struct{ set, said, reason, explains string }{
		{"POSTGRES_PASSWORD=postgres", "Error: POSTGRES_URL environment variable is required", "Error: POSTGRES_URL environment variable is required", "requires POSTGRES_URL,"},
		{"NOTION_TOKEN=notion", "Error: NOTION_TOKEN environment variable is not set", "Error: NOTION_TOKEN environment variable is not set", "NOTION_TOKEN"},
		{"ACME_API_KEY=acme_api_key", "Error: ACME_API_KEY environment variable is required", "Error: ACME_API_KEY environment variable is required", "ACME_API_KEY"},
		{"POSTGRES_PASSWORD=postgres", "Error: POSTGRES_URL environment variable is required (postgres, POSTGRES_postgres)", "Error: POSTGRES_URL environment variable is required («redacted», «redacted»_«redacted»)", "requires POSTGRES_URL,"},
		{"ACME_TOKEN=is NOTES_URL required", "Error: NOTES_URL environment variable is NOTES_URL required", "Error: NOTES_URL environment variable «redacted»", "requires NOTES_URL,"},
		{"ACME_TOKEN=SWORDFISH_SECRET", "Error: SWORDFISH_SECRET environment variable is required", "Error: «redacted» environment variable is required", "requires «redacted»,"},
	} {
		spec := launch.Spec{Command: "npx", Args: []string{"-y", "notes"}, Env: []string{c.set}}
		d := Diagnose(FromEvidence(spec, upstream.Evidence{Stage: upstream.Started, Exit: "exit status 1", Code: 1, StderrTail: []byte(c.said)}))
		if len(d.Reasons) != 1 || d.Reasons[0] != c.reason || !strings.Contains(d.Explanation, c.explains) {
			t.Errorf("%s, %s:\n%q\n%s", c.set, c.said, d.Reasons, d.Explanation)
		}
	}
}
