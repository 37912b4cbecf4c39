package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// actionlint finds nothing in the workflows and the action.
func TestWorkflowsAreSound(t *testing.T) {
	t.Parallel()
	files := workflows(t)
	for _, file := range files {
		// Its checks with other programs depend on what is installed; TestScriptsAreSound has one of them.
		cmd := exec.CommandContext(t.Context(), realparts.Actionlint(t), "-shellcheck=", "-pyflakes=", "-no-color", file)
		cmd.Dir = filepath.Join("..", "..")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("actionlint %s: %v\n%s", file, err, said)
		}
	}
}

// The example of the action in docs/install.md has inputs that the action has, and action.yml is sound.
func TestExampleOfTheActionIsSound(t *testing.T) {
	t.Parallel()
	_, example, found := strings.Cut(string(read(t, filepath.Join("..", "..", "docs", "install.md"))), "```yaml\n- uses: gauze-mcp/gauze@v1\n")
	example, _, closed := strings.Cut(example, "```")
	if !found || !closed {
		t.Fatal("docs/install.md has no example of the action")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	gitIn(t, dir, "init", "-q") // actionlint looks for actions in the repository
	write("action.yml", string(read(t, filepath.Join("..", "..", "action.yml"))))
	lint := func(text string) (string, error) {
		file := write(".github/workflows/example.yml", "on: push\njobs:\n  test:\n    runs-on: ubuntu-24.04\n    steps:\n      - uses: ./\n"+
			strings.ReplaceAll(text, "  with:", "        with:"))
		cmd := exec.CommandContext(t.Context(), realparts.Actionlint(t), "-shellcheck=", "-pyflakes=", "-no-color", file)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	example = strings.ReplaceAll(example, "    ", "          ")
	if said, err := lint(example); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := lint(strings.Replace(example, "lock:", "locks:", 1)); err == nil || !strings.Contains(said, `input "locks" is not defined`) {
		t.Errorf("an input that the action does not have: %v\n%s", err, said)
	}
}

// A workflow gets what it needs and no more: no permission by default beyond reading, and every action by its commit.
func TestWorkflowsTrustLittle(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	byCommit := regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40}$`)
	count := 0
	for _, file := range workflows(t) {
		text := string(read(t, file))
		if !regexp.MustCompile(`(?m)^permissions:(?: \{\}|\n  contents: read)\n\n`).MatchString(text) {
			t.Errorf("%s: the default permissions are not {} or contents: read alone", file)
		}
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			count++
			if strings.HasPrefix(m[1], "./") {
				continue
			}
			if !byCommit.MatchString(m[1]) || !strings.HasPrefix(m[2], " # v") {
				t.Errorf("%s: %s%s is not a commit with its version", file, m[1], m[2])
			}
		}
		if strings.Contains(text, "pull_request_target") {
			t.Errorf("%s runs with secrets for a stranger's change", file)
		}
	}
	if count < 10 {
		t.Errorf("%d uses of actions", count)
	}
}

func workflows(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for i, file := range files {
		if files[i], err = filepath.Abs(file); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// shellcheck finds nothing in the scripts of the action, nor in those of the workflows.
func TestScriptsAreSound(t *testing.T) {
	onRequest(t)
	shellcheck := realparts.Tool(t, "shellcheck", "shellcheck")
	scripts, err := filepath.Glob(filepath.Join("..", "..", "deploy", "action", "*.sh"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	if said, err := exec.CommandContext(t.Context(), shellcheck, append([]string{"-x", "-P", "SCRIPTDIR", "-s", "sh", "-S", "warning"}, scripts...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	for _, file := range workflows(t) {
		if said, err := exec.CommandContext(t.Context(), realparts.Actionlint(t), "-shellcheck="+shellcheck, "-no-color", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
	}
}

// onRequest skips what takes long or downloads much, unless everything is asked for.
func onRequest(t *testing.T) {
	t.Helper()
	if !programs.Everything() {
		t.Skip("only in a run of everything")
	}
}

// As the workflow does: made with the public key alone, a release is signed later, elsewhere, with the private one.
func TestReleaseIsSignedLater(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := newKey(key); err != nil {
		t.Fatal(err)
	}
	made := standIns(t)
	if err := made.usePublic(key + ".pub"); err != nil {
		t.Fatal(err)
	}
	made.run(t, archives, sums, signature)
	if err := checkSignature(made.dir, key+".pub"); err == nil {
		t.Error("signed without the private key")
	}
	signed := *made
	if err := signed.useKey(key); err != nil {
		t.Fatal(err)
	}
	signed.run(t, signature)
	if err := verify(signed.dir, key+".pub", io.Discard); err != nil {
		t.Error(err)
	}
	if made.key == "" || made.key != signed.key {
		t.Errorf("the binaries know %q, and the signer has %q", made.key, signed.key)
	}
}

// A repaired older version is not what everyone gets, on GitHub and from npm; and a command that fails in a pipe fails its job.
func TestWorkflowKnowsTheNewestRelease(t *testing.T) {
	t.Parallel()
	text := string(read(t, filepath.Join("..", "..", ".github", "workflows", "release.yml")))
	if !strings.Contains(text, "\ndefaults:\n  run:\n    shell: bash") {
		t.Error("the shell has no pipefail, which only a chosen bash has")
	}
	_, script, found := strings.Cut(text, "- id: order\n        run: |\n")
	script, _, ended := strings.Cut(script, "\n\n")
	if !found || !ended {
		t.Fatal("the workflow does not compare releases")
	}
	dir := t.TempDir()
	list := "printf 'abc\\trefs/tags/%s\\n' v1.2.8 v1.2.9 v1.10.0 v2.0.0-rc.1 v1\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+list), 0o755); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]string{"v1.10.0": "newest=true\n", "v1.2.9": "newest=false\n", "v2.0.0-rc.1": "newest=false\n"} {
		output := filepath.Join(t.TempDir(), "output")
		cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", script)
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GITHUB_REF_NAME=" + tag, "GITHUB_OUTPUT=" + output}
		if said, err := cmd.CombinedOutput(); err != nil || string(read(t, output)) != want {
			t.Errorf("%s: %v %s, expected %s", tag, err, said, want)
		}
	}
	if !strings.Contains(text, "kind=--latest=$NEWEST\n") || !strings.Contains(text, "case $NEWEST in false) tag=previous ;; esac") {
		t.Error("the jobs for GitHub and npm do not use it")
	}
}
