"""What the stand-in trains: vectors of eight numbers for each user and movie, by the ratings in ./data."""

users = 120
movies = 80
dimensions = 8
batch_size = 50
learning_rate = 0.004
seed = 1
