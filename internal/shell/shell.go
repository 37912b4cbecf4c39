// Package shell knows the words of the user's shell: how it quotes, and which
// commands it has for the things that advice asks for. Advice is copied into a
// terminal, so every command that gauze shows is spelled here, for the platform
// of the reader.
//
// On Windows the reader may have PowerShell or cmd.exe. Commands work in both
// where that is possible; where it is not, they are for PowerShell, which
// Windows opens by default.
package shell

import (
	"fmt"
	"runtime"
	"strings"
)

// Words are the words of one platform's shell. The zero value is a POSIX shell.
type Words struct{ windows bool }

// For returns the words of a platform, as runtime.GOOS names it.
func For(goos string) Words { return Words{windows: goos == "windows"} }

// Here returns the words of the platform that gauze runs on.
func Here() Words { return For(runtime.GOOS) }

// Windows reports whether the words are for Windows.
func (w Words) Windows() bool { return w.windows }

// Line joins the words of a command, each quoted if needed.
func (w Words) Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = w.Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Quote returns a word as it is typed into the shell: in quotes if the shell
// would read anything into it.
func (w Words) Quote(word string) string {
	if w.windows {
		return quoteWindows(word)
	}
	if word != "" && onlyPlain(word, "_@%+=:,./-") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quoteWindows prefers double quotes, which PowerShell, cmd.exe and programs
// read alike. In them PowerShell expands $ and `, and it ends them at any
// double quote, typographic ones included; words with those are put into
// PowerShell's single quotes, in which nothing is expanded.
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
		if strings.ContainsRune("'‘’‚‛", r) { // each of them ends the string unless it is doubled
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}

// plainOnWindows reports whether a word needs no quotes. To PowerShell @name is
// the content of a variable, and -a.b are two words.
func plainOnWindows(word string) bool {
	if word == "" || word[0] == '@' || word[0] == '-' && strings.Contains(word, ".") {
		return false
	}
	return onlyPlain(word, `_@+=:./\-`)
}

// doubleTrailingBackslashes keeps programs from reading \" at the end as a
// quote that belongs to the word.
func doubleTrailingBackslashes(word string) string {
	return word + word[len(strings.TrimRight(word, `\`)):]
}

// onlyPlain reports whether a word has nothing but letters, digits and the
// given characters. Letters beyond ASCII are plain for POSIX shells; PowerShell
// takes some of those characters for quotes and dashes, so they are quoted.
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

// Which returns the command that shows where a program is. In PowerShell, where
// alone is a different command.
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

// TrustAuthority returns the command that makes Go programs accept certificates
// that an authority has signed. On Windows they read only the system's store.
func (w Words) TrustAuthority(file string) string {
	if w.windows {
		return "certutil -user -addstore Root " + w.Quote(file)
	}
	return w.Set("SSL_CERT_FILE", file)
}

// Kill returns the command that ends a process.
func (w Words) Kill(pid int) string {
	return fmt.Sprintf(w.pick("kill %d", "taskkill /PID %d /F"), pid)
}

// Listener returns the command that shows which process listens on a port.
func (w Words) Listener(port string) string {
	return w.pick("lsof -i :", "netstat -ano | findstr :") + port
}

// RemoveAll returns the command that deletes a folder. On Windows it is
// PowerShell's own: PowerShell takes the quotes off a word without spaces, so
// rmdir, which only cmd.exe has, would read & and spaces of expanded variables
// in it.
func (w Words) RemoveAll(folder string) string {
	return w.pick("rm -r ", removeItem) + w.Quote(folder)
}

const removeItem = "Remove-Item -Recurse -Force -LiteralPath "

// Then returns one line that runs two commands in turn. The PowerShell of
// Windows itself has no &&.
func (w Words) Then(first, second string) string {
	return first + w.pick(" && ", "; ") + second
}

// RemoveThere is RemoveAll for a folder whose place differs by platform. The
// paths are taken as they are, so that the shell fills in ~ and $env:NAME.
func (w Words) RemoveThere(posix, windows string) string {
	return w.pick("rm -r "+posix, removeItem+`"`+windows+`"`)
}

// Venv returns the path of a program in a virtual environment of Python.
func (w Words) Venv(program string) string {
	return w.pick(".venv/bin/", `.venv\Scripts\`) + program
}

// List returns the command that shows a file or folder with its permissions.
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

// Posix returns a command that has no counterpart on Windows: there, nothing.
func (w Words) Posix(command string) string { return w.pick(command, "") }

// Path returns an example of an absolute path, whose parts are given.
func (w Words) Path(parts ...string) string {
	return w.pick("/"+strings.Join(parts, "/"), `C:\`+strings.Join(parts, `\`))
}

// Home returns the path of something in the home folder, as the shell expands it.
func (w Words) Home(name string) string { return w.pick("~/", `%USERPROFILE%\`) + name }

// Python is the name under which Python 3 is installed.
func (w Words) Python() string { return w.pick("python3", "python") }
