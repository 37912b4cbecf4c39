package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/registry"
)

// searchFlags are the flags of gauze search.
type searchFlags struct {
	registry string
	limit    int
	offline  bool
	json     bool
}

// searchCommand returns gauze search, which finds servers in the public registry.
func searchCommand() *cobra.Command {
	f := &searchFlags{}
	cmd := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find MCP servers, and see how to add them",
		Long: "Search the official MCP registry, or another registry with the same API (--registry,\n" +
			"GAUZE_REGISTRY). Only WORDS are sent. Responses are cached for a day; --offline searches\n" +
			"the cache only. Nothing is installed or started. Descriptions come from the publishers\n" +
			"and are not verified.\n\n" +
			"Exit status: 0 if a server was found, 1 if none was found or the registry cannot be\n" +
			"reached, 2 for invalid usage.",
		Example: "gauze search airtable\n" +
			"gauze search google drive --limit 3\n" +
			"gauze search weather --json",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.registry, "registry", "", "`URL` of the registry (default: $GAUZE_REGISTRY, or "+registry.Official+")")
	flags.IntVar(&f.limit, "limit", 10, "maximum `number` of servers to show")
	flags.BoolVar(&f.offline, "offline", false, "search cached responses only")
	flags.BoolVar(&f.json, "json", false, "print all details as JSON")
	return cmd
}

func (f *searchFlags) run(cmd *cobra.Command, args []string) error {
	source := registry.Source{URL: f.registry, Online: !f.offline}
	if source.URL == "" {
		source.URL = os.Getenv("GAUZE_REGISTRY")
	}
	if err := f.check(args); err != nil {
		return err
	}
	if err := source.Check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	done := waiting(cmd, f.json, "the registry")
	found, err := source.Search(ctx, args, f.limit)
	done()
	switch {
	case ctx.Err() != nil:
		return interrupted
	case err != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "gauze search: %v\nTo search cached responses:\n\n    gauze search --offline %s\n", err, redact.Quote(strings.Join(args, " ")))
		return exitStatus(1)
	}
	err = present(cmd, f.json, searchedOf(found), func(p terminal.Paint) string { return showFound(found, strings.Join(args, " "), f.offline, p) })
	if err == nil && len(found.Servers) == 0 {
		return exitStatus(1)
	}
	return err
}

// check rejects invalid flags, and words that must not be sent, because they look like a key.
func (f *searchFlags) check(args []string) error {
	words := strings.Join(args, " ")
	switch {
	case strings.TrimSpace(words) == "":
		return errors.New("missing WORDS; for example: gauze search airtable")
	case redact.Text(words) != words:
		return errors.New("the query appears to contain a secret, so it was not sent")
	case f.limit < 1 || f.limit > 100:
		return fmt.Errorf("invalid --limit %d: must be between 1 and 100", f.limit)
	}
	return nil
}

// searched is the output of --json.
type searched struct {
	Servers []searchedServer `json:"servers"`
	Kept    string           `json:"kept,omitempty"`    // date of the oldest response, if all came from the cache
	Trouble string           `json:"trouble,omitempty"` // why the registry could not be reached
}

type searchedServer struct {
	registry.Server
	Ways []searchedWay `json:"ways"`
}

type searchedWay struct {
	registry.Facts
	Command []string `json:"command,omitempty"`
	Add     string   `json:"add"`
}

func searchedOf(found registry.Found) searched {
	s := searched{Servers: []searchedServer{}}
	if !found.Kept.IsZero() {
		s.Kept = found.Kept.Format("2006-01-02")
	}
	if found.Trouble != nil {
		s.Trouble = found.Trouble.Error()
	}
	for _, server := range found.Servers {
		shown := searchedServer{Server: server, Ways: []searchedWay{}}
		for _, way := range server.Ways {
			one := searchedWay{Facts: way, Add: addLine(server, way)}
			if way.Kind != registry.Remote {
				one.Command = way.Words(namesOf(registry.Required(way.Env))...)
			}
			shown.Ways = append(shown.Ways, one)
		}
		s.Servers = append(s.Servers, shown)
	}
	return s
}

// showFound formats servers for a terminal: what each is, what it requires, how to add it.
func showFound(found registry.Found, words string, offline bool, p terminal.Paint) string {
	var b strings.Builder
	for _, server := range found.Servers {
		showServer(&b, server, p)
	}
	switch {
	case len(found.Servers) > 0:
	case offline && found.Kept.IsZero():
		b.WriteString("The cache is empty. Search once without --offline.\n")
	default:
		fmt.Fprintf(&b, "No server found for %s. The registry searches only names; try a single word from the name.\n", redact.Quote(words))
	}
	if found.Trouble != nil {
		fmt.Fprintf(&b, "The list may be incomplete: %v.\n", found.Trouble)
	}
	if !found.Kept.IsZero() {
		fmt.Fprintf(&b, "From responses cached on %s.\n", found.Kept.Format("2 January 2006"))
	}
	return b.String()
}

func showServer(b *strings.Builder, server registry.Server, p terminal.Paint) {
	fmt.Fprintf(b, "%s  %s", p.Bold(server.Name), p.Faint(server.Version))
	if server.Deprecated {
		b.WriteString("  " + p.Red("deprecated"))
	}
	fmt.Fprintf(b, "\n  %s\n", server.About)
	required, optional := needs(server)
	for _, v := range required {
		fmt.Fprintf(b, "  requires %s%s\n", p.Bold(v.Name), p.Faint(aboutVariable(v)))
	}
	const few = 6
	if n := len(optional); n > few {
		optional = append(optional[:few], fmt.Sprintf("%d more", n-few))
	}
	if len(optional) > 0 {
		fmt.Fprintf(b, "  %s\n", p.Faint("optional: "+strings.Join(optional, ", ")))
	}
	for _, way := range server.Ways {
		fmt.Fprintf(b, "    %s\n", p.Cyan(addLine(server, way)))
		if args := argumentsOf(way); args != "" {
			fmt.Fprintf(b, "      %s\n", p.Faint("the publisher's arguments: "+args))
		}
	}
	if len(server.Ways) == 0 {
		b.WriteString("    gauze does not support any of this server's packages or transports\n")
	}
	b.WriteString("\n")
}

// needs returns the variables and headers that a server requires, and the names of optional ones.
func needs(server registry.Server) (required []registry.Variable, optional []string) {
	var all []registry.Variable
	for _, way := range server.Ways {
		all = slices.Concat(all, way.Env, way.Headers)
	}
	seen := map[string]bool{}
	for _, v := range registry.Required(all) {
		if !seen[v.Name] {
			required, seen[v.Name] = append(required, v), true
		}
	}
	for _, v := range all {
		if !seen[v.Name] {
			optional, seen[v.Name] = append(optional, v.Name), true
		}
	}
	return required, optional
}

func aboutVariable(v registry.Variable) (about string) {
	if v.Secret {
		about += " (secret)"
	}
	if v.About != "" {
		about += ": " + v.About
	}
	if len(v.Choices) > 0 {
		about += " [" + strings.Join(v.Choices, ", ") + "]"
	}
	if strings.Contains(v.Value, "{") {
		about += ", as " + v.Value
	}
	return about
}

// argumentsOf returns the arguments of a package that are fixed or required.
func argumentsOf(way registry.Facts) string {
	var shown []string
	for _, arg := range way.Args {
		switch {
		case arg.Value != "":
			shown = append(shown, strings.TrimSpace(strings.Join([]string{dashed(arg.Name), arg.Value}, " ")))
		case arg.Required:
			shown = append(shown, strings.TrimSpace(dashed(arg.Name)+" …"))
		}
	}
	return strings.Join(shown, " ")
}

// dashed returns the name of a flag, or "" for a positional argument.
func dashed(name string) string {
	if strings.HasPrefix(name, "-") {
		return name
	}
	return ""
}

// addLine returns the command that adds a server. Every part of it is safe in a shell.
func addLine(server registry.Server, way registry.Facts) string {
	line := "gauze add " + server.Short() + " " + shell.Here().Quote(way.Package())
	for _, v := range registry.Required(way.Env) {
		line += " --env " + v.Name + "=…"
	}
	for _, v := range registry.Required(way.Headers) {
		line += " --header " + shell.Here().Quote(v.Name+": …")
	}
	return line
}

func namesOf(variables []registry.Variable) (names []string) {
	for _, v := range variables {
		names = append(names, v.Name)
	}
	return names
}
