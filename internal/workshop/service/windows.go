package service

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// windowsTask returns a task that begins when the user logs on. Its file is gauze's own: the task scheduler keeps a
// copy. conhost runs gauze without a window.
func windowsTask(s Spec) Definition {
	path := s.State + `\services\` + Name + ".xml"
	user := escaped(s.User)
	line := "--headless"
	for _, word := range append([]string{s.Program}, s.Args...) {
		line += " " + argument(word)
	}
	content := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>%s</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>%s</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>%s</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>3</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>conhost.exe</Command>
      <Arguments>%s</Arguments>
    </Exec>
  </Actions>
</Task>
`, escaped(mark), user, user, escaped(line))
	return Definition{
		Kind: "Windows task", Path: path, Content: content,
		Exists: []string{"schtasks", "/Query", "/TN", Name, "/XML", "ONE"},
		Start:  []Command{run("schtasks", "/Create", "/TN", Name, "/XML", path, "/F"), {[]string{"schtasks", "/End", "/TN", Name}, true}, run("schtasks", "/Run", "/TN", Name)},
		Stop:   []Command{{[]string{"schtasks", "/End", "/TN", Name}, true}, run("schtasks", "/Delete", "/TN", Name, "/F")},
		Log:    run(append([]string{s.Program}, s.Args...)...), // the task has no log
	}
}

// argument quotes a word as CommandLineToArgvW reads it.
func argument(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\"") {
		return word
	}
	quoted, slashes := `"`, 0
	for _, r := range word {
		if r == '"' {
			quoted += strings.Repeat(`\`, slashes+1)
		}
		if slashes++; r != '\\' {
			slashes = 0
		}
		quoted += string(r)
	}
	return quoted + strings.Repeat(`\`, slashes) + `"`
}

// Bytes returns the content of the file: the task scheduler reads UTF-16.
func (d Definition) Bytes() []byte {
	if !strings.Contains(d.Content[:min(len(d.Content), 64)], "UTF-16") {
		return []byte(d.Content)
	}
	text := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(strings.ReplaceAll(d.Content, "\n", "\r\n"))) {
		text = binary.LittleEndian.AppendUint16(text, unit)
	}
	return text
}

// Plain returns the content of a file as Content has it.
func Plain(content []byte) []byte {
	rest, wide := bytes.CutPrefix(content, []byte{0xff, 0xfe})
	if !wide {
		return content
	}
	units := make([]uint16, len(rest)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(rest[2*i:])
	}
	return []byte(strings.ReplaceAll(string(utf16.Decode(units)), "\r\n", "\n"))
}
