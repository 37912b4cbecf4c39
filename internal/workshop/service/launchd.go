package service

import (
	"fmt"
	"strings"
)

// label is the name of the agent.
const label = "com.gauze-mcp.up"

// launchd returns an agent of the user's launchd.
func launchd(s Spec) Definition {
	path := s.Home + "/Library/LaunchAgents/" + label + ".plist"
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
		"<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n")
	fmt.Fprintf(&b, "<!-- %s -->\n<plist version=\"1.0\">\n<dict>\n", mark)
	fmt.Fprintf(&b, "  <key>Label</key>\n  <string>%s</string>\n  <key>ProgramArguments</key>\n  <array>\n", label)
	for _, word := range append([]string{s.Program}, s.Args...) {
		fmt.Fprintf(&b, "    <string>%s</string>\n", escaped(word))
	}
	b.WriteString("  </array>\n  <key>EnvironmentVariables</key>\n  <dict>\n")
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&b, "    <key>%s</key>\n    <string>%s</string>\n", escaped(name), escaped(value))
	}
	said := s.Home + "/Library/Logs/" + Name + ".log"
	log := escaped(said)
	fmt.Fprintf(&b, "  </dict>\n  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n"+
		"  <key>StandardOutPath</key>\n  <string>%s</string>\n  <key>StandardErrorPath</key>\n  <string>%s</string>\n</dict>\n</plist>\n", log, log)
	domain := "gui/" + s.UID
	stop := Command{[]string{"launchctl", "bootout", domain + "/" + label}, true}
	return Definition{
		Kind: "launchd agent", Path: path, Content: b.String(),
		Start: []Command{stop, run("launchctl", "bootstrap", domain, path)},
		Stop:  []Command{stop},
		Log:   run("tail", "-n", "20", said),
	}
}

// escaped returns a text for XML.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(text)
}
