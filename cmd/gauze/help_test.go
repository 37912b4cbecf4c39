package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func helpOf(t *testing.T, words ...string) string {
	t.Helper()
	root := commands()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{}, words...)) // nil would mean os.Args
	if err := root.Execute(); err != nil {
		t.Fatalf("gauze %s: %v", strings.Join(words, " "), err)
	}
	return out.String()
}

// ourCommands returns the commands that cobra does not add itself.
func ourCommands() (all []*cobra.Command) {
	for _, cmd := range commands().Commands() {
		if cmd.GroupID != "" && cmd.Name() != "help" && cmd.Name() != "completion" {
			all = append(all, cmd)
		}
	}
	return all
}

func TestHelpFitsEightyColumns(t *testing.T) {
	pages := map[string]string{"gauze": helpOf(t, "--help"), "all": helpOf(t, "help", "--all")}
	for _, cmd := range ourCommands() {
		flag := "--help"
		if cmd.Flags().Lookup("help-all") != nil {
			flag = "--help-all"
		}
		pages[cmd.Name()] = helpOf(t, cmd.Name(), flag)
	}
	if len(pages) < 20 {
		t.Errorf("only %d pages", len(pages))
	}
	for name, page := range pages {
		for line := range strings.Lines(page) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%s: wider than 80 columns: %s", name, line)
			}
		}
		if strings.Contains(page, "[flags]") && strings.Index(page, "[flags]") > strings.Index(page+"-- ", "-- ") {
			t.Errorf("%s: the flags are after the dashes", name)
		}
	}
}

// gauze --help shows eight commands, and every other one is shown by gauze help --all.
func TestHelpShowsEightCommands(t *testing.T) {
	short, all := helpOf(t, "--help"), helpOf(t, "help", "--all")
	if helpOf(t, "help") != short || helpOf(t, "--help-all") != all {
		t.Error("gauze help and gauze --help differ")
	}
	if !strings.Contains(short, "\n  gauze help --all\n") {
		t.Errorf("gauze --help does not say how to see all commands:\n%s", short)
	}
	shown := 0
	for _, cmd := range ourCommands() {
		line := "\n  " + cmd.Name() + " "
		if strings.Contains(short, line) {
			shown++
		}
		if strings.Count(all, line) != 1 {
			t.Errorf("gauze help --all does not show %s once", cmd.Name())
		}
	}
	if shown != len(first) || shown != 8 {
		t.Errorf("gauze --help shows %d commands:\n%s", shown, short)
	}
	if helpOf(t, "help", "run", "--all") != helpOf(t, "run", "--help-all") {
		t.Error("gauze help run --all does not show all flags")
	}
}

func TestRunShowsSixFlags(t *testing.T) {
	short, long := helpOf(t, "run", "--help"), helpOf(t, "run", "--help-all")
	if n := strings.Count(short, "\n  --"); n != 6 {
		t.Errorf("%d flags are shown:\n%s", n, short)
	}
	if n := strings.Count(long, "\n  --"); n < 20 {
		t.Errorf("%d flags with --help-all:\n%s", n, long)
	}
}

// Help that advertises --help-all names a flag that exists and shows more.
func TestHelpAllExistsWhereItIsAdvertised(t *testing.T) {
	advertised := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		words := strings.Fields(cmd.CommandPath())[1:]
		short := helpOf(t, append(words, "--help")...)
		if !strings.Contains(short, "--help-all") {
			return
		}
		advertised++
		long := helpOf(t, append(words, "--help-all")...)
		if len(long) <= len(short) || strings.Contains(long, "--help-all") {
			t.Errorf("%s --help-all shows:\n%s", cmd.CommandPath(), long)
		}
		if strings.Contains(long, "--batch") {
			t.Errorf("%s --help-all shows a flag of our own tests", cmd.CommandPath())
		}
	}
	for _, cmd := range ourCommands() {
		visit(cmd)
	}
	if advertised < 3 {
		t.Errorf("only %d commands have rare flags", advertised)
	}
}

func TestEveryCommandIsInAGroup(t *testing.T) {
	for _, cmd := range commands().Commands() {
		if cmd.GroupID == "" && cmd.IsAvailableCommand() {
			t.Errorf("%s is in no group, so the help does not show it", cmd.Name())
		}
	}
}

// Every command says in our own words which argument it does not expect, or which is missing.
func TestArgumentErrorsAreOurs(t *testing.T) {
	ours := regexp.MustCompile(`^(unexpected argument|missing|unknown command|unknown task command|invalid) `)
	var visit func(cmd *cobra.Command)
	checked := 0
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		if cmd.DisableFlagParsing {
			return // a different binary has its arguments
		}
		if cmd.Args == nil {
			t.Errorf("%s does not check its arguments", cmd.CommandPath())
			return
		}
		for _, words := range [][]string{nil, {"a", "b", "c", "d"}} {
			if err := cmd.Args(cmd, words); err != nil {
				if checked++; !ours.MatchString(err.Error()) {
					t.Errorf("%s %q: %v", cmd.CommandPath(), words, err)
				}
			}
		}
	}
	for _, cmd := range ourCommands() {
		visit(cmd)
	}
	if checked < 15 {
		t.Errorf("only %d errors", checked)
	}
}
