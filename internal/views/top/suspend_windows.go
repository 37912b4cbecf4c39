package top

import tea "charm.land/bubbletea/v2"

// suspend does nothing: Windows does not stop processes for a shell.
func suspend() tea.Cmd { return nil }
