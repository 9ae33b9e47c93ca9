import { expect, test } from "vitest";
import type { ShownFrame, State } from "../src/player.ts";
import { figure, type Player, startLink, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

/** What was seen of a player since it has been there. */
interface Seen {
	frames: ShownFrame[];
	states: State[];
}

/** Notes every picture that is shown from the first one on. Runs in the page. */
function note(): void {
	const seen: Seen = { frames: [], states: [] };
	Reflect.set(globalThis, "seen", seen);
	new MutationObserver((_, observer) => {
		const player = document.querySelector("moq-player");
		if (!player?.requestVideoFrameCallback) return;
		observer.disconnect();
		const tell = (f: ShownFrame) => {
			seen.frames.push(f);
			player.requestVideoFrameCallback(tell);
		};
		player.requestVideoFrameCallback(tell);
		player.addEventListener("statechange", () => seen.states.push(player.state));
	}).observe(document, { childList: true, subtree: true });
}

const seenBy = (player: Player): Promise<Seen> => player.page.evaluate(() => Reflect.get(globalThis, "seen") as Seen);

/** Waits until so many pictures were shown with sound since there were "since", and returns how many there were ever. */
async function waitFrames(player: Player, what: string, since: number, want: (f: ShownFrame) => boolean = () => true) {
	const fresh = async () => (await seenBy(player)).frames.slice(since).filter((f) => f.skew !== undefined && want(f));
	await expect.poll(async () => (await fresh()).length, { timeout: 60_000, message: what }).toBeGreaterThan(30);
	const skews = (await fresh()).map((f) => f.skew ?? 0);
	figure(`A/V skew ${what}, ms`, skews);
	const { frames } = await seenBy(player);
	return frames.length;
}

test("no picture is shown that is 80 ms from the sound that is heard", async () => {
	const { port, program } = await startLink(relay.port, "rate=20Mbit/s delay=5ms queue=300ms");
	const player = await watch(port, {}, { before: note });
	let n = await waitFrames(player, "after joining", 0);

	for (const ms of [250, 550, 850]) {
		await player.page.evaluate(async (ms) => {
			const p = document.querySelector("moq-player");
			p?.pause();
			await new Promise((resolve) => setTimeout(resolve, ms));
			p?.play();
		}, ms);
		n = await waitFrames(player, `after a pause of ${ms} ms`, n);
	}

	await program.freeze(2000);
	n = await waitFrames(player, "after the link stood still", n);
	expect((await seenBy(player)).states).toContain("stalled");

	for (const quality of ["video-360p", "video-720p", "auto"]) {
		await player.page.evaluate((q) => document.querySelector("moq-player")?.setAttribute("quality", q), quality);
		n = await waitFrames(player, `in quality ${quality}`, n, (f) => quality === "auto" || f.track === quality);
	}

	const { frames } = await seenBy(player);
	const apart = frames.filter((f) => Math.abs(f.skew ?? 0) >= 80);
	expect(apart).toEqual([]);
});
