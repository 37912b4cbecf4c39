// Package shell provides the commands of the user's shell: how it quotes, and how to do what advice
// asks for. Advice is copied into a terminal, so every command that gauze shows is written here,
// for the reader's platform.
//
// On Windows the reader may have PowerShell or cmd.exe. Commands work in both where possible, or
// else in PowerShell, which Windows opens by default.
package shell

import (
	"fmt"
	"runtime"
	"strings"
)

// Words are the commands of one platform's shell. The zero value is a POSIX shell.
type Words struct{ windows bool }

// For returns the commands of a platform, named as in runtime.GOOS.
func For(goos string) Words { return Words{windows: goos == "windows"} }

// Here returns the commands of the platform that gauze runs on.
func Here() Words { return For(runtime.GOOS) }

// Windows reports whether the commands are for Windows.
func (w Words) Windows() bool { return w.windows }

// Line joins the words of a command, each quoted if needed.
func (w Words) Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = w.Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Quote returns a word as it is typed into the shell: in quotes if it contains characters that are
// special to the shell.
func (w Words) Quote(word string) string {
	if w.windows {
		return quoteWindows(word)
	}
	if word != "" && onlyPlain(word, "_@%+=:,./-") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quoteWindows prefers double quotes, which PowerShell, cmd.exe and programs interpret alike.
// Inside them PowerShell expands $ and `, and any double quote ends them, including typographic
// ones; words with those get PowerShell's single quotes, in which nothing is expanded.
func quoteWindows(word string) string {
	switch {
	case plainOnWindows(word):
		return word
	case !strings.ContainsAny(word, "$`\"“”„"):
		return `"` + doubleTrailingBackslashes(word) + `"`
	}
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range word {
		if strings.ContainsRune("'‘’‚‛", r) { // each of them ends the string unless doubled
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}

// plainOnWindows reports whether a word needs no quotes. In PowerShell, @name is the content of a
// variable, and -a.b is split into two words.
func plainOnWindows(word string) bool {
	isSplit := strings.HasPrefix(word, "-") && strings.Contains(word, ".")
	if word == "" || word[0] == '@' || isSplit {
		return false
	}
	return onlyPlain(word, `_@+=:./\-`)
}

// doubleTrailingBackslashes keeps programs from reading \" at the end as a quote that is part of
// the word.
func doubleTrailingBackslashes(word string) string {
	return word + word[len(strings.TrimRight(word, `\`)):]
}

// onlyPlain reports whether a word consists of letters, digits and the given characters. POSIX
// shells do not interpret letters beyond ASCII; PowerShell treats some such characters as quotes
// and dashes, so they are quoted.
func onlyPlain(word, also string) bool {
	return strings.IndexFunc(word, func(r rune) bool {
		ascii := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !ascii && !strings.ContainsRune(also, r) && !(r >= 0x80 && !strings.Contains(also, `\`))
	}) < 0
}

// pick returns the command of the platform.
func (w Words) pick(posix, windows string) string {
	if w.windows {
		return windows
	}
	return posix
}

// Which returns the command that shows where a program is. In PowerShell, "where" alone is a
// different command.
func (w Words) Which(program string) string {
	return w.pick("command -v ", "where.exe ") + w.Quote(program)
}

// Set returns the command that sets a variable for the programs started from
// this terminal.
func (w Words) Set(name, value string) string {
	if !w.windows {
		return "export " + name + "=" + w.Quote(value)
	}
	if quoted := w.Quote(value); strings.HasPrefix(quoted, `"`) || strings.HasPrefix(quoted, "'") {
		return "$env:" + name + " = " + quoted
	}
	return "$env:" + name + ` = "` + value + `"`
}

// TrustAuthority returns the command that makes Go programs trust an authority's certificates. On
// Windows they read only the system's store.
func (w Words) TrustAuthority(file string) string {
	if w.windows {
		return "certutil -user -addstore Root " + w.Quote(file)
	}
	return w.Set("SSL_CERT_FILE", file)
}

// Kill returns the command that kills a process.
func (w Words) Kill(pid int) string {
	return fmt.Sprintf(w.pick("kill %d", "taskkill /PID %d /F"), pid)
}

// Listener returns the command that shows which process listens on a port.
func (w Words) Listener(port string) string {
	return w.pick("lsof -i :", "netstat -ano | findstr :") + port
}

// RemoveAll returns the command that deletes a directory. On Windows it is PowerShell's own:
// PowerShell removes the quotes around a word, so cmd.exe's rmdir would see any & and spaces of
// expanded variables in it.
func (w Words) RemoveAll(folder string) string {
	return w.pick("rm -r ", removeItem) + w.Quote(folder)
}

const removeItem = "Remove-Item -Recurse -Force -LiteralPath "

// Then returns one line that runs two commands in sequence. Windows PowerShell does not support &&.
func (w Words) Then(first, second string) string {
	return first + w.pick(" && ", "; ") + second
}

// RemoveThere is RemoveAll for a directory whose path differs by platform. The paths are not
// quoted further, so that the shell expands ~ and $env:NAME.
func (w Words) RemoveThere(posix, windows string) string {
	return w.pick("rm -r "+posix, removeItem+`"`+windows+`"`)
}

// Venv returns the path of a program in a Python virtual environment.
func (w Words) Venv(program string) string {
	return w.pick(".venv/bin/", `.venv\Scripts\`) + program
}

// List returns the command that lists a file or directory with its permissions.
func (w Words) List(path string) string {
	return w.pick("ls -ld ", "icacls ") + w.Quote(path)
}

// FirstLine returns the command that shows the first line of a file.
func (w Words) FirstLine(file string) string {
	if w.windows {
		return "Get-Content " + w.Quote(file) + " -TotalCount 1"
	}
	return "head -n 1 " + w.Quote(file)
}

// Processes returns the command that lists processes by the memory they use.
func (w Words) Processes() string {
	return w.pick(`ps -u "$USER" -o pid,ppid,rss,args --sort=-rss | head -n 20`,
		"Get-Process | Sort-Object WorkingSet -Descending | Select-Object -First 20")
}

// Posix returns a command that has no counterpart on Windows, where it returns "".
func (w Words) Posix(command string) string { return w.pick(command, "") }

// Path returns an example of an absolute path with the given elements.
func (w Words) Path(parts ...string) string {
	return w.pick("/"+strings.Join(parts, "/"), `C:\`+strings.Join(parts, `\`))
}

// Home returns the path of a file in the home directory, as the shell expands it.
func (w Words) Home(name string) string { return w.pick("~/", `%USERPROFILE%\`) + name }

// Python returns the name that Python 3 is installed under.
func (w Words) Python() string { return w.pick("python3", "python") }
