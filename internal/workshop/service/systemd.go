package service

import (
	"fmt"
	"slices"
	"strings"
)

// systemd returns a unit of the user's systemd. Only gauze gets the signal to stop, so that calls in flight may finish.
func systemd(s Spec) Definition {
	unit := Name + ".service"
	config := s.Config
	if config == "" {
		config = s.Home + "/.config"
	}
	path := config + "/systemd/user/" + unit
	line := unitWord(s.Program)
	for _, word := range s.Args {
		line += " " + strings.ReplaceAll(unitWord(word), "$", "$$")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n[Unit]\nDescription=Gauze: the MCP servers of %s\n\n[Service]\n", mark, strings.Trim(unitWord(s.File), `"`))
	fmt.Fprintf(&b, "ExecStart=%s\nExecReload=/bin/kill -HUP $MAINPID\n", line)
	for _, pair := range s.Env {
		fmt.Fprintf(&b, "Environment=%s\n", unitWord(pair))
	}
	if s.EnvFile != "" {
		fmt.Fprintf(&b, "EnvironmentFile=-%s\n", strings.ReplaceAll(s.EnvFile, "%", "%%"))
	}
	b.WriteString("Restart=on-failure\nRestartSec=5\nKillMode=mixed\nTimeoutStopSec=30\n\n[Install]\nWantedBy=default.target\n")
	systemctl := func(words ...string) []Command {
		return []Command{run(append([]string{"systemctl", "--user"}, words...)...)}
	}
	return Definition{
		Kind: "systemd user unit", Path: path, Content: b.String(),
		Start:  slices.Concat(systemctl("daemon-reload"), systemctl("enable", unit), systemctl("restart", unit)),
		Stop:   systemctl("disable", "--now", unit),
		Forget: systemctl("daemon-reload"),
		Log:    run("journalctl", "--user", "-n", "20", "-u", unit),
		Keep:   "To keep it running while you are logged out: loginctl enable-linger",
	}
}

// unitWord quotes a word for a unit file.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`, "\t", `\t`).Replace(word) + `"`
}
