// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times a folder of `network_onnx` with ONNX Runtime, and compares its outputs: node time_onnx.js FOLDER [THREADS [SESSIONS [RUNS]]]
// Prints the median over sessions of the median of the runs of each, and the processor time of a run, which on one thread does not depend on what else
// the machine does. Exit code: 1 wrong outputs, 2 wrong arguments, 77 onnxruntime-node is not installed.
const fs = require('fs');

const [folder, ...numbers] = process.argv.slice(2);
const [threads = 1, sessions = 5, runs = 20] = numbers.map(Number);
if (!folder || numbers.length > 3 || ![threads, sessions, runs].every((n) => Number.isInteger(n) && n > 0)) {
    console.error('usage: node time_onnx.js FOLDER [THREADS [SESSIONS [RUNS]]]');
    process.exit(2);
}
let ort;
try {
    ort = require('onnxruntime-node');
} catch (e) {
    console.error(`time_onnx: no onnxruntime-node (npm install onnxruntime-node; NODE_PATH names its node_modules): ${e.message.split('\n')[0]}`);
    process.exit(77);
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

// The tensors of a file, one behind the other.
function tensors(file, list) {
    const bytes = fs.readFileSync(`${folder}/${file}`);
    let at = 0;
    return list.map(({name, shape}) => {
        const floats = shape.reduce((a, b) => a * b, 1);
        const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + 4 * floats));
        at += 4 * floats;
        return [name, new ort.Tensor('float32', data, shape)];
    });
}

// The largest difference, relative to the largest value of the tensor.
function difference(got, want) {
    let most = 0, largest = 0;
    for (let i = 0; i < want.length; ++i) {
        most = Math.max(most, Math.abs(got[i] - want[i])); // keeps NaN
        largest = Math.max(largest, Math.abs(want[i]));
    }
    return most / largest;
}

async function main() {
    const model = JSON.parse(fs.readFileSync(`${folder}/model.json`));
    const feeds = Object.fromEntries(tensors('inputs.f32', model.inputs));
    const expected = tensors('outputs.f32', model.outputs);
    const medians = [], processor = [];
    let worst = 0, fastest = Infinity;
    for (let s = 0; s < sessions; ++s) {
        const session = await ort.InferenceSession.create(`${folder}/model.onnx`, {
            executionProviders: ['cpu'], graphOptimizationLevel: 'all', executionMode: 'sequential', intraOpNumThreads: threads, interOpNumThreads: 1,
        });
        for (let i = 0; i < 3; ++i) await session.run(feeds);
        const times = [];
        let results;
        const before = process.cpuUsage();
        for (let i = 0; i < runs; ++i) {
            const begin = process.hrtime.bigint();
            results = await session.run(feeds);
            times.push(Number(process.hrtime.bigint() - begin) / 1e6);
        }
        const used = process.cpuUsage(before);
        processor.push((used.user + used.system) / 1e3 / runs);
        for (const [name, want] of expected) worst = Math.max(worst, difference(results[name].data, want.data));
        medians.push(median(times)); // sorts them
        fastest = Math.min(fastest, times[0]);
        await session.release();
    }
    const ms = median(medians);
    console.log(`onnxruntime ${ort.env.versions.node}: median ${ms.toFixed(4)} ms, ${medians[0].toFixed(4)} to ${medians[sessions - 1].toFixed(4)} over ` +
                `${sessions} sessions of ${runs} runs, fastest ${fastest.toFixed(4)} ms, processor ${median(processor).toFixed(4)} ms, ${threads} threads; ` +
                `largest relative error ${worst.toExponential(2)}`);
    if (!(worst < 1e-3)) {
        console.error('time_onnx: these are not the outputs of the network');
        process.exit(1);
    }
}
main().catch((e) => {
    console.error(`time_onnx: ${e.message}`);
    process.exit(1);
});
