package fault

var messageEntries = []Entry{
	{
		Code: ResponseTooLarge, RPC: -31040, Retry: ChangeCall,
		Title: "the server's answer is too large",
		model: "The server answered, but the answer is too large to pass on.",
		next:  "Ask for less: a filter, a smaller range, one page at a time.",
		Means: "The server answered this call with more bytes than one message may have (16 MiB).",
		Why:   "A whole file, a whole table or a picture came back in one piece.",
		Did:   "Gauze threw the answer away without holding it in memory, answered in its place, and kept the session alive. The call itself has run.",
		Do: []Step{
			{Text: "Ask the tool for less at a time: a filter, a limit, a page."},
		},
	},
	{
		Code: RequestTooLarge, RPC: -31041, Retry: ChangeCall,
		Title: "the call is too large",
		model: "This call is too large.",
		next:  "Send less: shorter arguments, or several smaller calls.",
		Means: "The client sent a message with more bytes than one message may have (16 MiB).",
		Why:   "A whole file was put into the arguments.",
		Did:   "Gauze refused it and sent nothing.",
		Do: []Step{
			{Text: "Pass a path instead of the content, or split the call."},
		},
	},
	{
		Code: ResponseInvalid, RPC: -31042, Retry: VerifyFirst, mute: true,
		Title: "the server's answer is not a valid message",
		model: "The server answered this call with something that is not a valid answer.",
		Means: "An answer for this call came, but it breaks the rules of JSON-RPC: result and error both or neither, a key twice, broken text, or nested too deep.",
		Why:   "A mistake in the server, or in a library that it uses.",
		Did:   "Gauze did not pass it on: a client may read such a message differently from Gauze. The call itself has probably run.",
		Do: []Step{
			{Text: "Look whether the call took effect before you repeat it."},
			{Text: "Report it to the server's authors."},
		},
	},
	{
		Code: MessageInvalid, RPC: rpcInvalidRequest, Retry: TellUser,
		Title: "the client's message is not valid",
		model: "The client sent a message that is not valid JSON-RPC.",
		next:  "Do not repeat it unchanged. Tell the user: this is a mistake of the client program, not of the server.",
		Means: "The message is not one JSON-RPC request: a key occurs twice or in two spellings, a needed key is missing, or it is no JSON.",
		Why:   "A mistake in the client, or somebody tries to make two programs read one message in two ways.",
		Did:   "Gauze refused it and sent nothing: only what was inspected is passed on.",
		Do: []Step{
			{Text: "Update the client; if it stays, report it to the client's authors."},
		},
	},
	{
		Code: IDInUse, RPC: rpcInvalidRequest, Retry: TellUser,
		Title: "the request id is already in use",
		model: "The client used the id of a request that has no answer yet.",
		next:  "Tell the user: this is a mistake of the client program, not of the server.",
		Means: "Two requests with the same id were open at the same time, so nobody could tell which answer belongs to which.",
		Why:   "A mistake in the client, or two programs write to one connection.",
		Did:   "Gauze refused the second request and sent nothing of it; the first goes on untouched.",
		Do: []Step{
			{Text: "Update the client; if it stays, report it to the client's authors."},
		},
	},
}
