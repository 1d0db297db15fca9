"""What each of the 104 flowers looks like: one row per class, in label order."""

from typing import NamedTuple, get_type_hints

from draw_flowers.canvas import Colour, colour

_SHADES = """
white    0.97 0.96 0.95
cream    0.97 0.91 0.74
yellow   0.99 0.86 0.16
gold     0.96 0.70 0.08
orange   0.97 0.50 0.10
salmon   0.98 0.62 0.50
red      0.87 0.12 0.13
crimson  0.66 0.06 0.20
pink     0.97 0.66 0.78
rose     0.93 0.35 0.58
magenta  0.78 0.16 0.56
lilac    0.78 0.64 0.90
purple   0.53 0.24 0.66
violet   0.38 0.28 0.78
blue     0.25 0.38 0.88
sky      0.55 0.74 0.96
green    0.42 0.66 0.26
lime     0.72 0.82 0.36
maroon   0.36 0.07 0.16
brown    0.33 0.19 0.09
black    0.10 0.07 0.10
"""  # red, green and blue in 0..1
COLOURS: dict[str, Colour] = {
    name: colour(*map(float, shade))
    for name, *shade in map(str.split, _SHADES.strip().splitlines())
}


class Traits(NamedTuple):
    """How a class of flowers is built; `draw_flowers.forms` says what each form makes of it."""

    form: str
    petals: int  # in a layer; or florets, in forms that hold several
    layers: int  # of petals; in a cluster or spike, the petals of one floret
    outline: str
    width: float  # half a petal's width, in petal lengths
    tip: str  # colours; "a/b" means that single plants are either a or b
    base: str
    mark: str
    accent: str
    centre: str
    heart: str  # the centre's colour
    radius: float  # the centre's, in flower radii
    leaf: str
    name: str


# form, petals, layers, outline, width, tip, base, mark, accent, centre, heart, radius, leaf, name
_ROWS = """
open     4 1 heart   .72 pink            yellow  eye    rose    star     lime    .34 narrow pink primrose
orchid   3 1 oval    .36 cream           lime    stripe maroon  lip      rose    .42 narrow hard-leaved pocket orchid
bell     3 1 kite    .30 violet/pink     lilac   plain  violet  none     white   .10 oval   canterbury bells
pansy    5 1 wavy    .62 rose            magenta rim    white   none     white   .12 narrow sweet pea
open     5 1 oval    .40 magenta         lilac   veins  purple  stamens  lime    .30 fern   wild geranium
open     6 1 lance   .20 orange          orange  spots  maroon  stamens  brown   .62 narrow tiger lily
orchid   3 1 oval    .50 white           white   plain  white   lip      magenta .26 oval   moon orchid
half     6 1 lance   .13 orange          gold    plain  blue    nose     blue    .30 sword  bird of paradise
spike   13 3 broad   .55 violet          purple  plain  violet  none     black   .10 fern   monkshood
globe   80 1 strap   .10 blue            sky     plain  blue    none     white   .10 fern   globe thistle
spike   14 3 wavy    .60 pink/yellow     rose    tips   cream   button   yellow  .30 narrow snapdragon
open    20 1 strap   .08 yellow          gold    plain  yellow  seeds    orange  .42 none   colt's foot
open    12 3 lance   .24 pink            rose    tips   crimson dome     cream   .50 oval   king protea
half    34 1 strap   .04 magenta         purple  plain  purple  nose     green   .50 fern   spear thistle
iris     3 1 broad   .42 yellow          gold    veins  brown   none     yellow  .10 sword  yellow iris
open     8 4 broad   .60 yellow          gold    plain  yellow  none     gold    .10 fern   globe-flower
open    14 1 strap   .11 rose            magenta plain  rose    dome     orange  .42 oval   purple coneflower
open     6 1 broad   .36 salmon/rose     yellow  spots  crimson stamens  crimson .35 narrow peruvian lily
open     5 1 kite    .56 blue            violet  veins  violet  star     white   .18 oval   balloon flower
spathe   1 1 broad   .52 white           lime    plain  white   spadix   yellow  .50 heart  giant white arum lily
half     6 1 lance   .16 red             yellow  rim    yellow  whiskers gold    .80 narrow fire lily
globe   48 1 broad   .30 lilac           violet  plain  lilac   pins     white   .50 narrow pincushion flower
bell     1 1 broad   .34 crimson         maroon  spots  pink    none     lime    .10 sword  fritillary
spike   22 1 lance   .36 red             crimson plain  red     none     white   .10 sword  red ginger
spike   34 1 oval    .50 blue            violet  rim    white   none     white   .10 sword  grape hyacinth
open     4 1 fan     .78 red             black   eye    red     seeds    black   .16 fern   corn poppy
plume   60 1 lance   .14 crimson         rose    plain  crimson none     red     .10 oval   prince of wales feathers
open     5 1 kite    .44 blue            blue    plain  violet  tube     black   .30 oval   stemless gentian
cone    30 1 oval    .44 lime            green   tips   purple  none     green   .10 fern   artichoke
cluster 12 5 toothed .50 rose/crimson    crimson rim    white   button   white   .16 narrow sweet william
open    12 4 toothed .42 red/rose        crimson rim    pink    none     red     .10 narrow carnation
cluster 10 5 oval    .34 lilac/white     rose    eye    lilac   none     rose    .10 oval   garden phlox
open     8 1 kite    .30 sky             blue    plain  sky     stamens  lime    .90 fern   love in the mist
open     8 1 toothed .34 rose/white      magenta plain  pink    button   gold    .17 fern   cosmos
open    18 1 kite    .09 blue            sky     plain  blue    dome     violet  .38 fern   alpine sea holly
orchid   3 1 wavy    .40 lilac           rose    plain  lilac   lip      crimson .46 oval   ruby-lipped cattleya
cluster  6 6 strap   .13 rose            pink    plain  rose    stamens  rose    .90 sword  cape flower
open    18 1 kite    .12 white           pink    tips   lime    pins     pink    .56 fern   great masterwort
cone    16 1 kite    .50 pink            rose    tips   white   none     pink    .10 sword  siam tulip
open     5 1 broad   .60 maroon          lime    spots  crimson stamens  cream   .34 fern   lenten rose
open    28 2 strap   .07 red/orange      orange  plain  red     ring     brown   .30 oval   barberton daisy
open     6 1 oval    .34 yellow          yellow  plain  yellow  tube     orange  .42 sword  daffodil
spike    9 5 broad   .52 salmon/crimson  red     tips   salmon  star     white   .50 sword  sword lily
open     7 2 kite    .36 red             crimson veins  maroon  button   lime    .13 oval   poinsettia
open     6 3 fan     .62 violet/white    purple  plain  violet  none     lime    .10 oval   bolero deep blue
cluster  9 4 fan     .66 orange/gold     maroon  plain  orange  none     lime    .10 narrow wallflower
open    15 5 toothed .30 orange          red     rim    gold    none     orange  .10 fern   marigold
open     5 1 broad   .45 yellow          lime    eye    yellow  stamens  gold    .36 narrow buttercup
open    21 1 strap   .07 white           white   plain  white   button   yellow  .28 round  daisy
open    38 4 strap   .04 yellow          yellow  plain  gold    none     gold    .10 sword  common dandelion
open     5 1 fan     .86 magenta/red     purple  stripe white   tube     black   .15 oval   petunia
pansy    5 1 broad   .58 violet          yellow  veins  black   button   gold    .10 oval   wild pansy
open     5 1 heart   .60 crimson/violet  yellow  eye    crimson button   lime    .09 round  primula
open    22 2 lance   .15 gold            orange  plain  gold    seeds    brown   .52 heart  sunflower
open     5 1 fan     .64 lilac           crimson eye    lilac   column   cream   .55 oval   lilac hibiscus
open     9 2 broad   .26 red             crimson plain  red     seeds    gold    .20 fern   bishop of llandaff
half     4 1 broad   .34 white           pink    plain  white   whiskers rose    .80 narrow gaura
cluster 11 5 oval    .42 red/rose        red     stripe crimson button   white   .18 round  geranium
open    15 5 oval    .17 orange          red     plain  orange  none     orange  .10 oval   orange dahlia
open    11 4 lance   .30 pink            yellow  plain  pink    none     yellow  .10 oval   pink-yellow dahlia
spike   16 2 strap   .26 yellow          crimson plain  yellow  button   maroon  .40 sword  cautleya spicata
open     6 1 oval    .48 white           pink    plain  white   ring     lime    .26 fern   japanese anemone
open    13 1 strap   .12 gold            gold    plain  gold    dome     black   .24 oval   black-eyed susan
open     5 1 fan     .92 white           cream   stripe pink    tube     yellow  .13 narrow silverbush
cup      4 1 fan     .66 orange          gold    plain  orange  none     gold    .10 fern   californian poppy
open    17 1 strap   .09 white/lilac     purple  eye    white   button   violet  .17 narrow osteospermum
cup      6 1 oval    .32 lilac           purple  stripe purple  stamens  orange  .30 narrow spring crocus
iris     3 1 wavy    .46 violet          white   stripe yellow  none     violet  .10 sword  iris
open    12 1 oval    .16 violet          lilac   plain  violet  button   cream   .16 fern   windflower
open     6 1 wavy    .70 white           white   plain  white   dome     gold    .42 round  tree poppy
open    15 1 lance   .18 gold            orange  stripe red     ring     black   .34 narrow gazania
open     5 1 wavy    .48 rose/salmon     pink    spots  crimson stamens  rose    .75 oval   azalea
open    10 3 lance   .21 white/pink      pink    plain  white   stamens  gold    .24 round  water lily
open     5 6 fan     .80 red/pink        crimson plain  red     none     crimson .10 oval   rose
open     5 1 kite    .86 white           lime    veins  lilac   tube     green   .16 heart  thorn apple
open     5 1 fan     .95 blue/magenta    white   eye    blue    tube     cream   .10 heart  morning glory
open    10 1 oval    .18 white           lime    plain  white   pins     violet  .66 fern   passion flower
open     9 2 kite    .42 pink            white   tips   rose    dome     lime    .26 round  lotus
open     6 1 lance   .24 lilac           white   spots  purple  star     purple  .42 oval   toad lily
spathe   1 1 heart   .62 red             crimson veins  crimson spadix   cream   .60 heart  anthurium
open     5 1 oval    .42 white           gold    eye    white   none     gold    .10 oval   frangipani
open     6 1 kite    .40 purple/sky      violet  stripe rose    stamens  cream   .32 heart  clematis
open     5 1 wavy    .70 red/yellow      maroon  eye    red     column   gold    .85 oval   hibiscus
open     5 2 lance   .30 violet          purple  rim    white   stamens  gold    .20 fern   columbine
open     5 1 kite    .60 white           white   rim    rose    tube     crimson .20 oval   desert-rose
open     5 1 heart   .52 magenta         maroon  veins  maroon  column   pink    .40 round  tree mallow
cup      5 1 broad   .40 white/pink      rose    plain  white   none     rose    .10 oval   magnolia
half     5 1 lance   .30 rose            crimson eye    rose    nose     crimson .26 heart  cyclamen
cluster 15 4 oval    .40 white           white   plain  white   button   lime    .34 round  watercress
pansy    5 1 lance   .40 orange          yellow  spots  red     column   red     .50 oval   canna lily
open     6 1 kite    .42 red             lime    stripe white   stamens  cream   .55 sword  hippeastrum
open    22 3 strap   .05 red             magenta plain  red     dome     maroon  .22 oval   bee balm
plume   20 1 kite    .22 rose            pink    plain  rose    none     violet  .24 narrow pink quill
bell     6 1 fan     .30 rose            pink    spots  maroon  none     white   .10 oval   foxglove
cluster  5 3 kite    .56 magenta         rose    veins  purple  star     white   .34 oval   bougainvillea
open     8 5 broad   .52 pink/white      rose    plain  pink    none     rose    .10 oval   camellia
open     5 1 heart   .36 lilac           purple  veins  purple  column   white   .26 round  mallow
open     5 1 wavy    .38 violet          purple  veins  purple  tube     violet  .17 narrow mexican petunia
open    10 4 kite    .13 lime            red     plain  red     none     red     .10 sword  bromelia
open    13 1 toothed .21 yellow          red     eye    yellow  seeds    crimson .34 narrow blanket flower
bell     4 1 wavy    .22 orange          red     plain  orange  none     red     .10 fern   trumpet creeper
open     6 1 strap   .17 orange          yellow  spots  red     star     gold    .22 sword  blackberry lily
cup      5 1 lance   .56 red/yellow/pink red     plain  red     none     red     .10 sword  common tulip
open     5 1 heart   .56 pink            white   plain  pink    stamens  gold    .40 fern   wild rose
"""  # noqa: E501 - a table is easier to read with a row on one line


_TYPES = get_type_hints(Traits).values()
FLORA = tuple(
    Traits(*(type_(text) for type_, text in zip(_TYPES, row.split(maxsplit=13), strict=True)))
    for row in _ROWS.strip().splitlines()
)
