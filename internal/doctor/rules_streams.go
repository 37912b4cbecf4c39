package doctor

import "strings"

// streamClues returns how HTTP clients and servers report streams that drop, sessions that are gone
// and redirects that lead nowhere.
func streamClues() map[string][]clue {
	return map[string][]clue{
		"session_expired_no_reinit": {
			{strong, `(?i)\bno (?:active |open |valid |matching |such )?(?:transport|session|connection)s? (?:(?:was |is )?found |exists |available )?(?:for|with) (?:the )?(?:session|id|sessionId)|\btransport (?:was |is )?(?:not found|missing) for session|\b(?:find|locate) (?:a |the )?transport for (?:the )?session|\bno session with (?:the |this )?id\b`, notBrowserSession},
			{strong, `(?i)\bfailed to (?:reconnect|resume) (?:the )?(?:SSE )?stream\b[^\n]{0,40}\b(?:not found|404|bad request|400)|\b(?:reconnect|resum)\w*\b[^\n]{0,60}\b404\b`, nil},
			{strong, `(?i)\bsession\b[^\n]{0,40}\b(?:evicted|re-?initiali[sz]e|no longer (?:exists|valid|active)|was (?:closed|deleted|terminated)|has been (?:closed|deleted|terminated|invalidated))`, notBrowserSession},
			{strong, `(?i)(?:stream|connection)[^\n]{0,30}\b(?:disconnected|terminated|closed|dropped|lost)\b(?s:.{0,500})\b(?:HTTP |status(?: code)?:? |\()404\b`, func(x *exam, _ *match) bool { return x.remote() || len(x.Command) == 0 }},
			{likely, `(?i)\bSSE connection (?:is |was )?not (?:established|active|open) for session\b`, nil},
		},
		"idle_stream_timeout": {
			{likely, `(?i)\bmaximum reconnection attempts\b[^\n]{0,20}\bexceeded\b|\bSSE stream (?:was )?(?:disconnected|closed|dropped|lost)\b`, func(x *exam, m *match) bool {
				return !x.status(&match{}, 400, 401, 403, 404, 405) && !strings.Contains(strings.ToLower(m.said), "content type") && !strings.Contains(m.said, "ECONNREFUSED")
			}},
		},
		"wrong_endpoint_path": {
			{certain, `(?i)\b(?:invalid|unexpected|wrong|unsupported) content[- ]?type\b[^\n]{0,60}`, func(x *exam, m *match) bool { return !x.status(&match{}, 401, 403, 415) }},
		},
		"sse_vs_streamable": {
			{certain, `(?i)\bSSE error: Non-200 status code \((?:406|415)\)`, nil},
			{strong, `(?i)\b(?:GET|POST)[- ]only (?:endpoint|route|resource)|\b(?:endpoint|server|route) (?:only )?(?:accepts|supports|expects|allows) (?:only )?(?:GET|POST)\b`, nil},
		},
		"trailing_slash_redirect": {
			{strong, `(?i)\b30[1278] (?:Found|Moved Permanently|Temporary Redirect|Permanent Redirect|redirect)\b`, func(x *exam, m *match) bool {
				return x.remote() && !strings.Contains(strings.ToLower(m.said), "callback")
			}},
			{strong, `(?i)\bRedirect response '30\d|\bredirect(?:ed)?\b[^\n]{0,60}\b(?:not followed|dropped|lost|stripped|without (?:a )?location|loop)|\bmaximum (?:number of )?redirects?\b|\bTooManyRedirects\b|\bredirect count exceeded\b`, nil},
		},
	}
}
