package fault

var messageEntries = []Entry{
	{
		Code: ResponseTooLarge, RPC: -31040, Retry: ChangeCall,
		Title: "the server's answer is too large",
		model: "The server answered, but the answer is too large to forward.",
		next:  "Ask for less: use a filter, a smaller range, or one page at a time.",
		Means: "The server's answer to this call exceeds the maximum message size.",
		Why:   "The answer contains a whole file, table or image.",
		Did:   "Gauze discarded the answer without keeping it in memory, returned this error, and kept the session. The call itself has run.",
		Do: []Step{
			{Text: "Ask the tool for less at a time: use a filter or a limit, or ask for one page."},
			{Text: "If the client can read an answer this large, raise the limit:", Command: "gauze run --max-message 1GiB -- COMMAND"},
		},
	},
	{
		Code: RequestTooLarge, RPC: -31041, Retry: ChangeCall,
		Title: "the call is too large",
		model: "This call is too large.",
		next:  "Send less: use shorter arguments, or several smaller calls.",
		Means: "The client's message exceeds the maximum size.",
		Why:   "The arguments contain a whole file.",
		Did:   "Gauze rejected the call without sending it.",
		Do: []Step{
			{Text: "Pass a path instead of the content, or split the call."},
			{Text: "If the server can read a call this large, raise the limit:", Command: "gauze run --max-message 1GiB -- COMMAND"},
		},
	},
	{
		Code: ResponseInvalid, RPC: -31042, Retry: VerifyFirst, mute: true,
		Title: "the server's answer is not a valid message",
		model: "The server's answer to this call is not valid.",
		Means: "The server answered, but the answer violates JSON-RPC: it has both a result and an error or neither, contains a duplicate key or an invalid string, or is nested too deeply.",
		Why:   "A bug in the server or in a library it uses.",
		Did:   "Gauze did not forward the answer, because a client may interpret it differently. The call itself has probably run.",
		Do: []Step{
			{Text: "Check whether the call took effect before you repeat it."},
			{Text: "Report the problem to the server's maintainers."},
		},
	},
	{
		Code: MessageInvalid, RPC: rpcInvalidRequest, Retry: TellUser,
		Title: "the client's message is not valid",
		model: "The client sent a message that is not valid JSON-RPC.",
		next:  "Do not repeat it unchanged. Tell the user: this is a bug in the client, not in the server.",
		Means: "The message is not a JSON-RPC request: a key is duplicated or appears in two spellings, a required key is missing, or the message is not valid JSON.",
		Why:   "A bug in the client, or an attempt to make two programs interpret one message differently.",
		Did:   "Gauze rejected the message without forwarding it: it forwards only what it has inspected.",
		Do: []Step{
			{Text: "Update the client. If the problem remains, report it to the client's maintainers."},
		},
	},
	{
		Code: IDInUse, RPC: rpcInvalidRequest, Retry: TellUser,
		Title: "the request id is already in use",
		model: "The client reused the id of a request that has not been answered yet.",
		next:  "Tell the user: this is a bug in the client, not in the server.",
		Means: "Two requests with the same id were in flight at the same time, so their answers could not be told apart.",
		Why:   "The client has a bug, or two programs are writing to the same connection.",
		Did:   "Gauze rejected the second request; the first one continues.",
		Do: []Step{
			{Text: "Update the client. If the problem remains, report it to the client's maintainers."},
		},
	},
}
