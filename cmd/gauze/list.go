package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// listFlags are the flags of gauze list.
type listFlags struct {
	clients []string
	known   bool
	json    bool
}

// listCommand returns gauze list, which lists every server of every client.
func listCommand() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers of all clients on this machine",
		Long: "List the servers in the configuration files of all MCP clients, and of the project in\n" +
			"this directory: the command or URL of each server, without secrets; whether it is\n" +
			"wrapped, disabled or broken; its file and line. No server is started.",
		Example: "gauze list\ngauze list --client cursor,codex\ngauze list --clients",
		Args:    atMost(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	clientFlag(cmd, &f.clients)
	cmd.Flags().BoolVar(&f.known, "clients", false, "list the supported clients and their files, and show which clients are in use")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *listFlags) run(cmd *cobra.Command) error {
	fl, err := fleetHere()
	if err != nil {
		return err
	}
	clients, err := fleet.Clients(f.clients)
	if err != nil {
		return err
	}
	if f.known {
		if len(clients) == 0 {
			clients = clientconfig.Clients()
		}
		return f.listClients(cmd, fl, clients)
	}
	view := fl.Look(clients...)
	return present(cmd, f.json, listedOf(view), func(p terminal.Paint) string { return showList(fl, view, clients, p) })
}

// listed is the output of --json.
type listed struct {
	Servers  []listedServer `json:"servers"`
	Problems []problem      `json:"problems"` // of whole files
}

type listedServer struct {
	Client   string    `json:"client"`
	Name     string    `json:"name"`
	Scope    string    `json:"scope"`
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Server   string    `json:"server"` // its command line or URL, without secrets
	Wrapped  bool      `json:"wrapped"`
	Disabled bool      `json:"disabled"`
	Project  bool      `json:"project"` // it belongs to the project, and the user has not agreed to run it
	Standing []string  `json:"standing"`
	Problems []problem `json:"problems"`
}

// problem is a problem of a file, in JSON.
type problem struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Client   string `json:"client"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	What     string `json:"what"`
	Why      string `json:"why"`
	Next     string `json:"next"`
	Fixable  bool   `json:"fixable"` // by gauze doctor --fix
}

func problemsOf(all []clientconfig.Problem) []problem {
	made := []problem{}
	for _, p := range all {
		made = append(made, problem{string(p.Code), p.Severity.String(), p.Client.ID, p.File, p.Line, p.Column, p.What, p.Why, p.Next, p.Fix != nil && fleet.WithReview(p)})
	}
	return made
}

func listedServerOf(s *fleet.Server) listedServer {
	return listedServer{
		Client: s.Client.ID, Name: s.Name, Scope: string(s.Scope), File: s.File, Line: s.Line, Server: s.Shown(),
		Wrapped: fleet.Through(s.Entry), Disabled: s.Disabled, Project: s.Foreign(), Standing: append([]string{}, s.Standing()...), Problems: problemsOf(s.Problems),
	}
}

func listedOf(view *fleet.View) listed {
	l := listed{Servers: []listedServer{}, Problems: problemsOf(view.Problems)}
	for _, s := range view.Servers {
		l.Servers = append(l.Servers, listedServerOf(s))
	}
	return l
}

// showList formats the list for a terminal, client by client.
func showList(fl *fleet.Fleet, view *fleet.View, clients []*clientconfig.Client, p terminal.Paint) string {
	var b strings.Builder
	wide := 0
	for _, s := range view.Servers {
		wide = max(wide, min(len([]rune(s.Name)), 24))
	}
	last := ""
	for _, s := range view.Servers {
		if s.Client.ID != last {
			fmt.Fprintf(&b, "%s%s %s\n", blankLine(last), p.Bold(s.Client.Name), p.Faint(s.Client.ID))
			last = s.Client.ID
		}
		margin := fmt.Sprintf("\n  %-*s  ", wide, "")
		fmt.Fprintf(&b, "  %-*s  %s\n", wide, redact.Quote(s.Name), terminal.FoldAfter(s.Shown(), margin))
		if standing := s.Standing(); len(standing) > 0 {
			words := terminal.FoldAfter(strings.Join(standing, ", "), margin)
			if len(s.Errors()) > 0 {
				words = p.Red(words)
			}
			b.WriteString(margin[1:] + words + "\n")
		}
		fmt.Fprintf(&b, "%s%s\n", margin[1:], p.Faint(fmt.Sprintf("%s:%d", fl.Tilde(s.File), s.Line)))
	}
	for i, problem := range view.Problems {
		if i == 0 {
			b.WriteString(blankLine(last))
		}
		where := fl.Tilde(problem.File).String()
		if problem.Client.ID == clientconfig.UpID && problem.Line > 0 {
			where += fmt.Sprintf(":%d", problem.Line)
		}
		fmt.Fprintf(&b, "%s %s\n", p.Red("✗"), terminal.FoldAfter(where+": "+problem.What, "\n  "))
	}
	switch {
	case len(view.Servers) > 0:
		fmt.Fprintf(&b, "\n%s in %s. To test them:\n\n    gauze doctor\n", plaintext.Count(len(view.Servers), "server"), plaintext.Count(view.Files(), "file"))
	case len(view.Problems) > 0:
		b.WriteString("\nNo server entry could be read. To see what is wrong:\n\n    gauze doctor --static\n")
	default:
		b.WriteString(showNone(fl, view, clients))
	}
	return b.String()
}

// blankLine returns the line between two clients.
func blankLine(last string) string {
	if last == "" {
		return ""
	}
	return "\n"
}

// showNone lists the files that were checked, and what to run next.
func showNone(fl *fleet.Fleet, view *fleet.View, clients []*clientconfig.Client) string {
	var b strings.Builder
	b.WriteString("No MCP servers found.\n\n")
	if used := inUse(fl); len(used) > 0 && len(clients) == 0 {
		fmt.Fprintf(&b, "%s\n", plaintext.Fold("These clients are in use, but have no servers: "+strings.Join(used, ", "), 80))
	}
	for _, c := range view.Configs {
		fmt.Fprintf(&b, "  read: %s\n", fl.Tilde(c.Path))
	}
	for i, file := range fl.Home.Places(clients...) {
		if i == 8 {
			b.WriteString("  … and more; to see all files: gauze list --clients\n")
			break
		}
		if !file.Exists {
			fmt.Fprintf(&b, "  not found: %s (%s)\n", fl.Tilde(file.Path), file.Client.Name)
		}
	}
	b.WriteString("\nTo find a server, and to add one:\n\n    gauze search WORDS\n    gauze add --client CLIENT NAME PACKAGE-or-URL\n")
	return b.String()
}

// listedClient is a client in JSON.
type listedClient struct {
	ID    string       `json:"id"`
	Name  string       `json:"name"`
	InUse bool         `json:"inUse"`
	Note  string       `json:"note,omitempty"`
	Files []listedFile `json:"files"`
}

type listedFile struct {
	Path   string `json:"path"`
	Scope  string `json:"scope"`
	Exists bool   `json:"exists"`
	Old    string `json:"old,omitempty"` // why the client no longer reads it
}

func (f *listFlags) listClients(cmd *cobra.Command, fl *fleet.Fleet, clients []*clientconfig.Client) error {
	var b strings.Builder
	p := terminal.PaintFor(cmd.OutOrStdout())
	all := []listedClient{}
	for _, c := range clients {
		one := listedClient{ID: c.ID, Name: c.Name, InUse: fl.Home.Uses(c), Note: c.Message, Files: []listedFile{}}
		mark := p.Faint("–")
		if one.InUse {
			mark = p.Green("✓")
		}
		fmt.Fprintf(&b, "%s %s %s\n", mark, p.Bold(c.Name), p.Faint(c.ID))
		if c.Message != "" {
			fmt.Fprintf(&b, "    %s\n", terminal.FoldAfter(c.Message, "\n    "))
		}
		for _, file := range fl.Home.Places(c) {
			one.Files = append(one.Files, listedFile{file.Path, string(file.Place.Scope), file.Exists, file.Place.Old})
			if file.Place.Old != "" && !file.Exists {
				continue
			}
			there := p.Faint("missing")
			if file.Exists {
				there = "exists"
			}
			fmt.Fprintf(&b, "    %-7s  %s  %s\n", there, fl.Tilde(file.Path), p.Faint(string(file.Place.Scope)))
		}
		all = append(all, one)
	}
	return present(cmd, f.json, struct {
		Clients []listedClient `json:"clients"`
	}{all}, func(terminal.Paint) string { return b.String() })
}
