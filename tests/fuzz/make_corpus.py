"""Writes the binary inputs that the fuzzer begins with: make_corpus.py [folder of corpora]. Texts are not generated."""
import pathlib
import struct
import sys
import zlib

top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus")


def put(reader, name, data):
    (top / reader).mkdir(parents=True, exist_ok=True)
    (top / reader / name).write_bytes(data)


def npy(dtype, shape, data, order="False", version=1):
    header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


floats = struct.pack("<60f", *[0.25 * k for k in range(60)])
put("npy", "f4", npy("<f4", (4, 3, 5), floats))
put("npy", "fortran_f8", npy("<f8", (2, 3), struct.pack("<6d", 1, -2, 0.5, 1e300, float("nan"), 0), "True"))
put("npy", "i8", npy("<i8", (2, 2, 2), struct.pack("<8q", *range(-4, 4))))
put("npy", "u2_version_2", npy("<u2", (3,), struct.pack("<3H", 0, 1, 65535), version=2))
put("npy", "bool", npy("|b1", (1, 2), b"\0\1"))
put("npy", "scalar", npy("<i4", (), struct.pack("<i", 7)))
put("npy", "empty", npy("<f4", (0, 3), b""))
put("npy", "sizes_that_overflow", npy("<f4", (3, 6148914691236517206), floats))

# A measurement: the length of its first array, that array, and the white field.
counts = npy("<u2", (4, 3, 5), struct.pack("<60H", *range(100, 160)))
white = npy("<u2", (2, 3, 5), struct.pack("<30H", *range(200, 230)))
put("measurement", "counts", struct.pack("<H", len(counts)) + counts + white)
put("measurement", "one_white", struct.pack("<H", len(counts)) + counts + npy("<f4", (3, 5), floats))
put("measurement", "line_integrals", struct.pack("<H", 0) + npy("<f4", (4, 3, 5), floats))

fields = [
    "note 1", ' {"geometry": "cone"}\\n', "sinogram_shape 3 2 1 3", "recon_shape 3 2 2 1", "seed 7", "num_iterations 2",
    "granularity 3 1 2 4", "partition_sequence 2 0 1", "fm_rmse 2 1.8p-1 1p-2", "prior_loss 2 1p+0 nan", "sigma_y 1p+0",
    "sigma_x 1.4p-3", "sigma_prox 1p+0", "stop_threshold_change_pct 2 1p+1 1p+0", "alpha_values 2 1p+0 1p+0",
    "delta_norm_per_slice 2", " 1 1p+0", " 1 1p-1", "warnings 1", " some text", "cancelled 0"]


def checkpoint(lines, values):
    text = "mbirk checkpoint\nversion 1\nbyte_order little\n" + "\n".join(lines) + "\ndata"
    text += " " * (63 - len(text) % 64) + "\n"
    data = text.encode() + struct.pack(f"<{values}f", *range(values))
    return data + b"crc32 %08x\n" % zlib.crc32(data)


put("checkpoint", "two_iterations", checkpoint(fields, 4 + 6 + 4))
put("checkpoint", "lists_of_unequal_lengths",
    checkpoint([f.replace("alpha_values 2 1p+0 1p+0", "alpha_values 1 1p+0") for f in fields], 4 + 6 + 4))
start = [f.replace("3 2 1 3", "3 0 0 0").replace("3 2 2 1", "3 0 0 0") for f in fields]
put("checkpoint", "no_arrays", checkpoint(start, 0))

state = ["mbirk slabs", "version 1", *fields[:4], "slices 1", "sweeps 3", "seed 7", "visits 3", "scale 1.8p-1",
         "warnings 0", "slabs 2"]
for slab in range(2):
    state += [*fields[5:], "norms 2 1p+3 1p+2", "weight 1p+0"]
text = "\n".join(state).encode() + b"\n"
put("slabs", "two_slabs", text + b"crc32 %08x\n" % zlib.crc32(text))

# Laid over a page that is valid: the header, the sequence, and the beginning of the state.
page = b"mbirklv\0" + struct.pack("<IIqq", 1, 0, 1, 1) + b"recon".ljust(64, b"\0") + b"0.1.0".ljust(16, b"\0")
put("live", "header", page)
put("live", "state", page[:12] + b"\xff\xff" + page[14:] + b"\2" + bytes(63) + b"x" * 200)
put("live", "short", b"w" + page)

# Sets of a Data Exchange file, as hdf5_readers.cpp makes them: for each, 16 bytes that say what it is.
def data_set(present, kind, rank, sizes, chunked, units=0):
    return bytes([present, kind, rank, *sizes, *[0] * (4 - len(sizes)), chunked, units]).ljust(16, b"\0")


views, rows, channels = 4, 3, 5
put("hdf5", "counts", data_set(1, 4, 3, (views, rows, channels), 0) + data_set(1, 4, 3, (2, rows, channels), 0) +
    data_set(1, 4, 3, (1, rows, channels), 1) + data_set(1, 1, 1, (views,), 0) + bytes(range(100, 200)))
put("hdf5", "line_integrals", data_set(1, 0, 3, (views, rows, channels), 1) + data_set(0, 0, 0, (), 0) +
    data_set(0, 0, 0, (), 0) + data_set(1, 0, 1, (views,), 0, 1) + bytes(100))
put("hdf5", "sizes_that_overflow", data_set(1, 4, 3, (views, rows, channels), 0) + data_set(1, 4, 2, (3, 14), 1) +
    data_set(0, 0, 0, (), 0) + data_set(0, 0, 0, (), 0) + bytes(100))


def tiff(pages, big=False, tile=None):
    """Uncompressed grey pages (width, height, bits, sample format, bytes)."""
    order = ">" if big else "<"
    out, last = bytearray((b"MM\0*" if big else b"II*\0") + struct.pack(order + "I", 0)), 4
    for width, height, bits, kind, data in pages:
        place = len(out)
        out += data
        tags = [(256, 4, width), (257, 4, height), (258, 3, bits), (259, 3, 1)]
        tags += [(262, 3, 1), (277, 3, 1), (339, 3, kind)]
        tags += ([(322, 4, tile[0]), (323, 4, tile[1]), (324, 4, place), (325, 4, len(data))] if tile else
                 [(273, 4, place), (278, 4, height), (279, 4, len(data))])
        out[last:last + 4] = struct.pack(order + "I", len(out))
        out += struct.pack(order + "H", len(tags))
        for tag, form, value in sorted(tags):
            out += struct.pack(order + "HHI", tag, form, 1)
            out += struct.pack(order + "HH", value, 0) if form == 3 else struct.pack(order + "I", value)
        last = len(out)
        out += struct.pack(order + "I", 0)
    return bytes(out)


grey = struct.pack("<15H", *range(15))
put("tiff", "pages", tiff([(5, 3, 16, 1, grey), (5, 3, 16, 1, grey[::-1])]))
put("tiff", "floats", tiff([(5, 3, 32, 3, floats[:60])]))
put("tiff", "big_endian", tiff([(5, 3, 16, 1, grey)], big=True))
put("tiff", "tiled", tiff([(5, 3, 8, 1, bytes(256))], tile=(16, 16)))

put("raw", "u16", b"u16le,4,3,5,8\n" + bytes(8) + struct.pack("<60H", *range(60)))
put("raw", "f64", b"f64be,1,2,3\n" + struct.pack(">6d", *range(6)))

header = bytearray(1024)
header[0:16] = struct.pack("<4i", 5, 3, 4, 1)
header[28:40] = struct.pack("<3i", 5, 3, 4)
header[40:52] = struct.pack("<3f", 10, 6, 8)
header[208:216] = b"MAP DD\0\0"
put("mrc", "tilts", b"-60, -20 20\t60\n" + bytes(header) + struct.pack("<60h", *range(60)))
put("mrc", "no_tilts", b"\n" + bytes(header) + bytes(120))

put("nikon", "scan.xtekct", b"""[XTekCT]
Name=a
Projections=4
DetectorPixelsX=5
DetectorPixelsY=3
DetectorPixelSizeX=0.2
DetectorPixelSizeY=0.2
SrcToObject=200.5
SrcToDetector=1000
InitialAngle=10
AngularStep=90
CentreOfRotationTop=0.1
CentreOfRotationBottom=0.2
WhiteLevel=60000
""")
put("skyscan", "scan.log", b"""[System]
Scanner=Skyscan1172
Camera X/Y Ratio=1.0
[Acquisition]
Filename Prefix=a_
Number of Files=   4
Number of Rows= 3
Number of Columns= 5
Optical Axis (line)= 1
Object to Source (mm)=60.5
Camera to Source (mm)=210
Image Pixel Size (um)=9.8
Rotation Step (deg)=0.7
Reference Intensity=57000
[Reconstruction]
Postalignment=-1.5
""")
put("north_star", "scan.nsipro", b"""<Project>
<Detector>
<width pixels>5</width pixels>
<height pixels>3</height pixels>
</Detector>
<Object Radiograph>
<number>4</number>
<angleStep>90</angleStep>
<pitch>0.127 0.127</pitch>
</Object Radiograph>
<Correction>
<flipH>true</flipH>
<rotate>0</rotate>
</Correction>
<Result>
<source>0 0 -400</source>
<reference>-0.25 0.12 500</reference>
<normal>0 0 1</normal>
<horizontal>1 0 0</horizontal>
</Result>
</Project>
""")


def matlab_part(kind, data):
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


matrix = (matlab_part(6, struct.pack("<II", 7, 0)) + matlab_part(5, struct.pack("<3i", 4, 3, 5)) +
          matlab_part(1, b"scan") + matlab_part(7, floats))
matlab_header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
put("matlab", "single", matlab_header + matlab_part(14, matrix))
as_int32 = matlab_part(14, matrix[:56] + b"\5" + matrix[57:])
put("matlab", "truncated.mat", (matlab_header + as_int32)[:288])
packed = zlib.compress(matlab_part(14, matrix))
put("matlab", "compressed", matlab_header + struct.pack("<II", 15, len(packed)) + packed)
packed = zlib.compress(as_int32[:200])  # a sound stream that ends before its array does
put("matlab", "compressed_truncated.mat", matlab_header + struct.pack("<II", 15, len(packed)) + packed)
put("matlab", "version_4", struct.pack("<5i", 20, 4, 15, 0, 5) + b"scan\0" + struct.pack("<60i", *range(60)))


def compound(streams):
    """An OLE2 file of one folder with streams in the mini stream: {name: bytes}; at most 7 of them."""
    def name_of(text):
        return text.encode("utf-16le").ljust(64, b"\0") + struct.pack("<H", 2 * len(text) + 2)
    mini, table, entries = bytearray(), [], []
    names = sorted(streams, key=lambda n: (len(n), n.upper()))
    for name in names:
        first, sectors = len(mini) // 64, max(1, -(-len(streams[name]) // 64))
        mini += streams[name].ljust(64 * sectors, b"\0")
        table += [first + k + 1 for k in range(sectors - 1)] + [0xfffffffe]
        entries.append((name, first, len(streams[name])))
    none = 0xffffffff
    directory = bytearray()

    def add(text, kind, right, child, first, size):
        directory.extend(name_of(text) + struct.pack("<BBIII", kind, 1, none, right, child) + bytes(36) +
                         struct.pack("<IQ", first, size))

    add("Root Entry", 5, none, 1, 3, len(mini))
    add("ImageInfo", 1, none, 2, 0, 0)
    for k, (name, first, size) in enumerate(entries):  # a tree that is a chain to the right
        add(name, 2, 3 + k if k + 1 < len(entries) else none, none, first, size)
    directory.extend(bytes(-len(directory) % 512))
    sectors = len(directory) // 512
    mini_sectors = -(-len(mini) // 512)
    # Sector 0: the table of sectors; 1: that of mini sectors; then the directory and the mini stream, in order.
    chain = [0xfffffffd, 0xfffffffe]
    for count in (sectors, mini_sectors):
        begin = len(chain)
        chain += [begin + k + 1 for k in range(count - 1)] + [0xfffffffe]
    directory[116:120] = struct.pack("<I", 2 + sectors)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<HHHHH", 0x3e, 3, 0xfffe, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, 1, 2, 0, 4096, 1, 1, 0xfffffffe, 0) + struct.pack("<I", 0) + b"\xff" * 432
    fill = lambda numbers: struct.pack(f"<{len(numbers)}I", *numbers).ljust(512, b"\xff")
    return head + fill(chain) + fill(table) + bytes(directory) + bytes(mini).ljust(512 * mini_sectors, b"\0")


word = lambda n: struct.pack("<i", n)
put("zeiss", "info", compound({
    "ImagesTaken": word(2), "ImageHeight": word(3), "ImageWidth": word(5), "DataType": word(5),
    "Angles": struct.pack("<2f", -90, 90), "StoRADistance": struct.pack("<f", -20.5),
    "DtoRADistance": struct.pack("<f", 80)}))
