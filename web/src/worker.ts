import { Engine } from "./player/engine.ts";
import type { FromWorker, ToWorker } from "./player/messages.ts";

// The player's worker: connection, decoding and drawing. The page talks to it in the messages of messages.ts.

// The first decoder of a page takes some hundred milliseconds to start; so one is started before it is needed.
if (typeof VideoDecoder !== "undefined") {
	const first = new VideoDecoder({ output: (f) => f.close(), error: () => undefined });
	first.configure({ codec: "avc1.42e01e", optimizeForLatency: true });
	first
		.flush()
		.catch(() => undefined)
		.finally(() => {
			if (first.state !== "closed") first.close();
		});
}

let engine: Engine | undefined;

addEventListener("message", (e: MessageEvent<ToWorker>) => {
	const m = e.data;
	if (m.type === "init") {
		engine = new Engine(m.canvas, m.sound, (out: FromWorker) => postMessage(out));
		engine.stage.target = m.target;
		engine.quality = m.quality;
		return;
	}
	if (!engine) return;
	switch (m.type) {
		case "load":
			engine.load(m.source);
			break;
		case "play":
			engine.paused = false;
			break;
		case "pause":
			engine.paused = true;
			break;
		case "target":
			engine.stage.target = m.target;
			break;
		case "quality":
			engine.quality = m.quality;
			break;
		case "frames":
			engine.stage.tellFrames = m.wanted;
			break;
		case "sound":
			engine.soundClock = m.clock;
			break;
	}
});
