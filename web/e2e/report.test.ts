import { expect, test } from "vitest";
import { metrics, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true, ops: true });

/** Frames that viewers have reported, by kind. */
async function reported(): Promise<Record<string, number>> {
	const sums: Record<string, number> = {};
	for (const { labels, value } of await metrics(relay.ops, "moq_frame_delay_seconds_count")) {
		if (labels.stage === "end_to_end" && labels.kind) sums[labels.kind] = (sums[labels.kind] ?? 0) + value;
	}
	return sums;
}

test("the relay's metrics show how late the frames are seen and heard", async () => {
	const silent = await watch(relay.port, { report: "none" });
	await silent.waitPlaying("without reports");
	await silent.page.waitForTimeout(2000);
	expect(Object.values(await reported()).reduce((a, b) => a + b, 0)).toBe(0);
	const player = await watch(relay.port);
	await player.waitPlaying("with reports");
	await expect.poll(reported, { timeout: 30_000 }).toSatisfy((r: Record<string, number>) => !!r.video && !!r.audio);
});
