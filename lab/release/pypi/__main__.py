from gauze_mcp import main

main()
