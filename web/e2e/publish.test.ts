import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
	figure,
	frameTime,
	median,
	openPage,
	Program,
	quantile,
	relayUrl,
	useBrowser,
	useRelay,
	watch,
} from "./harness.ts";

useBrowser();
const relay = useRelay();

/** A small picture, since the encoders of a machine without a graphics card are slow. */
const SMALL = { height: "360", bitrate: "1", framerate: "15" };

async function publish(namespace: string, query: Record<string, string> = {}) {
	const q = new URLSearchParams({ source: "pattern", namespace, start: "", ...query });
	const page = await openPage(`${relayUrl(relay.port)}publish.html?${q}`, { width: 1100, height: 900, dark: true });
	await page.getByRole("status").getByText("Live", { exact: true }).waitFor({ timeout: 60_000 });
	return page;
}

test("what the page publishes can be recorded", async () => {
	await publish("live/record", { ...SMALL, height: "360-180" });
	const dir = mkdtempSync(join(tmpdir(), "moq-web-publish-"));
	onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
	const file = join(dir, "out.mp4");
	// How much there is within some time depends on how busy the machine is.
	let streams: Record<string, unknown>[] = [];
	const frames = (want: object) => {
		const s = streams.find((s) => Object.entries(want).every(([k, v]) => s[k] === v));
		return Number(s?.nb_read_packets ?? 0);
	};
	for (const duration of ["5s", "15s", "40s"]) {
		const sub = new Program("moq-sub", [
			...["--tls-insecure", "--namespace", "live/record", "--wait", "-o", file, "--duration", duration],
			`moqt://127.0.0.1:${relay.port}/`,
		]);
		await sub.exited;
		const probe = execFileSync("ffprobe", [
			...["-v", "error", "-count_packets", "-of", "json"],
			...["-show_entries", "stream=codec_name,width,height,nb_read_packets,sample_rate", file],
		]);
		streams = JSON.parse(String(probe)).streams;
		if (streams.length === 3 && streams.every((s) => Number(s.nb_read_packets) > 10)) break;
	}
	expect(frames({ codec_name: "h264", width: 640, height: 360 })).toBeGreaterThan(10);
	expect(frames({ codec_name: "h264", width: 320, height: 180 })).toBeGreaterThan(10);
	expect(frames({ codec_name: "opus", sample_rate: "48000" })).toBeGreaterThan(50);
	const errors = execFileSync("ffmpeg", ["-v", "error", "-i", file, "-map", "0", "-f", "null", "-"], { stdio: "pipe" });
	expect(String(errors)).toBe("");
});

test("what the page publishes is seen and heard in the player, with its delay told truly", async () => {
	await publish("live/studio", SMALL);
	const player = await watch(relay.port, { namespace: "live/studio", latency: "150" });
	await player.waitPlaying("the pattern");
	await player.waitPitch(440);
	// The pattern carries the time of its drawing in bars. The player knows the time of capture, and when it has shown it.
	let frames: Awaited<ReturnType<typeof player.watchFrames>>["frames"] = [];
	let interval = 0;
	// On a busy machine there are few of them, or none for a while.
	for (let i = 0; i < 15 && frames.length <= 10; i++) {
		const watched = await player.watchFrames(4000);
		frames = frames.concat(watched.frames.filter((f) => f.said));
		interval = Math.max(interval, watched.interval);
	}
	expect(frames.length).toBeGreaterThan(10);
	const late = frames.map((f) => f.seen - (f.said?.at ?? 0));
	figure("seen by the page after the player says that it was shown, ms", late);
	figure(
		"burnt-in time to seen by the page, ms",
		frames.map((f) => f.seen - f.burnt),
	);
	expect(quantile(late, 0.25), `${late}`).toBeLessThan(frameTime(interval));
	expect(median(late)).toBeGreaterThan(-5);
});

test("the camera", async () => {
	const page = await publish("live/camera", { ...SMALL, source: "camera" });
	const player = await watch(relay.port, { namespace: "live/camera" });
	await player.waitPlaying("the camera", { sound: false });
	await page.getByRole("button", { name: "Stop" }).click();
	await player.waitState("waiting");
	await page.getByRole("button", { name: "Go live" }).click();
	await player.waitPlaying("again", { sound: false });
});

test.each(["vp9", "av1"])("%s", async (codec) => {
	await publish(`live/${codec}`, { ...SMALL, codec });
	const player = await watch(relay.port, { namespace: `live/${codec}` });
	await player.waitPlaying(codec);
});
