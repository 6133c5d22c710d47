// Written by `memento setup opencode`; `memento setup opencode --undo` takes it out.
import { spawn } from "node:child_process"

const COMMAND = __COMMAND__
const ROOT = __ROOT__

/** Run the hook of an event; whatever goes wrong, the answer is "". */
const hook = (event, given) =>
  new Promise((answer) => {
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, "hook", "opencode", event, ...ROOT], {
      stdio: ["pipe", "pipe", "ignore"],
    })
    let said = ""
    child.stdout.on("data", (part) => (said += part))
    child.on("error", () => answer(""))
    child.on("close", () => {
      try {
        answer(JSON.parse(said).additionalContext ?? "")
      } catch {
        answer("")
      }
    })
    child.stdin.on("error", () => answer(""))
    child.stdin.end(JSON.stringify(given))
  })

export const Memento = async ({ directory }) => {
  const begun = new Set()
  const about = (session) => ({ session_id: session, cwd: directory })
  return {
    config: async (config) => {
      config.mcp = { memento: { type: "local", command: [...COMMAND, "mcp", ...ROOT] }, ...config.mcp }
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const told = []
      if (!begun.has(session)) told.push(await hook("start", about(session)))
      begun.add(session)
      const prompt = typed.map((part) => part.text).join("\n")
      told.push(await hook("prompt", { ...about(session), prompt, prompt_id: output.message.id }))
      const text = told.filter(Boolean).join("\n\n")
      const last = typed.at(-1)
      if (text && last) output.parts.push({ ...last, id: `${last.id}m`, text, synthetic: true })
    },
    "experimental.session.compacting": async (input) => {
      await hook("compact", about(input.sessionID))
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await hook("end", about(event.properties.sessionID))
    },
  }
}
